"""Long work in processes of its own: starting, queueing, watching and ending it, here or on a Ray cluster."""
