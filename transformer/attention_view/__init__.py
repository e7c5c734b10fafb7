"""The picture of what heads do: a message packed in Python, drawn by view.js in an app, a notebook or a file."""
