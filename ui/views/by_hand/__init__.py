"""The parts of the page By hand: its address, the steps, what is measured beside them, and a trained head."""
