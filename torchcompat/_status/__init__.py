"""What torch has, what of it is here, and why the rest is not."""
