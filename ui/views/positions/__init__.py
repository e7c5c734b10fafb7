"""The parts of the page Positions: its address, the two formulas, and the positions of a trained model."""
