"""Rooms: a class that follows one lecturer, answers what is asked, and shows what it has found."""
