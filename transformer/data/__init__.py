"""Corpora and batches."""
