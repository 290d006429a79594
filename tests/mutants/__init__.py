"""The judge of the tests: plants faults in the code, one at a time, and counts those that no test notices."""
