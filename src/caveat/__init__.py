"""caveat."""
