"""What Translate and Write share: the walk through a text, its address, the candidates and the branches."""
