"""What Translate and Write share: the decoding through a text, its address, the candidates and the branches."""
