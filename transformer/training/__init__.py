"""Training: one process, one run folder."""
