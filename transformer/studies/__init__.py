"""Long measurements of a checkpoint, with files of their own: known results, heads left out, roles."""
