"""Running a model: decoding step by step, searching, and reading a given text in one pass."""
