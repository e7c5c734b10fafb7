"""What the page Classify alone needs."""
