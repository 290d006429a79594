"""A gateway from afar: the verbs of a data set that somebody else keeps. Nothing here reads rows or draws."""
