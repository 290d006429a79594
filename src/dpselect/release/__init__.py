"""What came back and every form it is written in."""
