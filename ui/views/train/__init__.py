"""The Train page in parts: the form of a new run, a run that is watched, and all of them."""
