"""A checkpoint as one file that computes in a browser."""
