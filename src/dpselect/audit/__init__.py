"""Reports on a whole ledger: whether it is intact, the record of a data set, how budgets were spent."""
