"""Lessons in the app: where they are found, how far a visitor is, and the bar that goes with every page."""
