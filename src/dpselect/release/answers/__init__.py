"""Write answers: from what a plan fixes and what a draw gave to a release with its statement and accuracy."""
