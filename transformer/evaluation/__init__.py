"""The quality of a model on text that it has not learned from."""
