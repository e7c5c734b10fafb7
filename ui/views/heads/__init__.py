"""The views of the page on what heads do."""
