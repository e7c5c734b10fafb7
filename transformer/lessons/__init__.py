"""Lessons: files of stops, each a link of the app, with questions that the model itself answers."""
