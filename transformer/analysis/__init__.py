"""Analyses of what heads do; nothing here draws."""
