"""Every pair of features crossed, refused with a hint, or impossible for a reason; docs/pairs.md is made from here."""
