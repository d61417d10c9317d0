"""What data pipes have in common."""
