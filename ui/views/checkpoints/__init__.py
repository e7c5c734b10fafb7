"""The views of the page on checkpoints."""
