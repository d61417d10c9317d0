"""What networks are made of: what torch has in `nn.functional`."""
