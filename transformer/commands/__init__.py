"""The commands of `headsup`, which is `python -m transformer` as well; each imports what it needs when it is called."""
