"""Attention with every number in sight."""
