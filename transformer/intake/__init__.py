"""Checkpoints that other people send: looked through before anything of them is kept."""
