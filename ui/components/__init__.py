"""What is drawn by a script of its own in the browser: one Python module, script and style each."""
