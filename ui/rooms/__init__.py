"""A class together: what a room is told, what lecturers do with it, and the pages that take part in it."""
