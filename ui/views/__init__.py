"""The parts of pages, a package each; the script of a page is in `pages/`."""
