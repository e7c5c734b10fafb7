"""Rooms: what a class is asked together, the key that the model gives, and how answers are checked and counted."""
