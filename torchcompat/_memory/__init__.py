"""What tensors lie in, and what they tell of it: sizes, layouts, conjugate views, memory that processes share."""
