"""Tests that start what takes long to start, or kill it at every moment; `./dev check` and CI run them too."""
