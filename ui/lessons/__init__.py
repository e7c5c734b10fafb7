"""Lessons in the app: where they are found, how they are walked, and the bar that goes with every page."""
