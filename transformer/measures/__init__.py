"""Measures of attention heads: what each is, shows and does not show, in one list (`catalogue.MEASURES`)."""
