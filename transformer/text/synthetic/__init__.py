"""Corpora that are made, not read: small tasks that a model learns in a minute, each a module with `make`."""
