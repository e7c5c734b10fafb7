"""Checks and imports of checkpoints that other people send."""
