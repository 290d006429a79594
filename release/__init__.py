"""`./dev release`: makes all that a release consists of and checks it. Nothing here sends anything anywhere."""
