"""Each element of the result is computed from the elements at its own place."""
