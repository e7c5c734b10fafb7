"""What every page has: its entry in the menu, its link, its presentation, terms, and limits of what is typed."""
