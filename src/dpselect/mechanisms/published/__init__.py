"""As published, for comparison: mechanisms of the founding papers that no measured cell prefers. Each says what is."""
