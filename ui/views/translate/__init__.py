"""What the page Translate alone needs."""
