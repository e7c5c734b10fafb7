"""What only the front page needs: an example to try at once, and a head while it learns."""
