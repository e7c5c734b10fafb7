"""The model, from one head of attention to the whole transformer."""
