"""The same memory under another shape and other strides."""
