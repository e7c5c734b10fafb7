"""The parts of the page Positions: the two formulas, and the positions of a trained model."""
