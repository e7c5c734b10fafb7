"""What needs no model: numbers in words, paths, colours, tables, errors of the system."""
