"""Pickers that several pages have: a checkpoint, a head, a corpus, a text."""
