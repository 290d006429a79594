"""Every pair of features crossed, refused with a hint, or impossible; `python -m tests.pairs` lists them."""
