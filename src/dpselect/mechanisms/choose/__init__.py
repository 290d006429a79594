"""One candidate out of known ones."""
