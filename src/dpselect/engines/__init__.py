"""Engines: the only rooms that see rows. One Protocol (port.py), one family of files per engine."""
