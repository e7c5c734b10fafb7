"""The picture of what heads do: a message packed in Python, drawn by js/view in an app, a notebook or a file."""
