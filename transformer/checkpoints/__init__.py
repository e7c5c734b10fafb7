"""Checkpoints: a model in a folder, with all that is known of it."""
