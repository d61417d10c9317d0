"""How tensors come to be: from data, from other tensors, from MindSpore's, and in the ways of older programs."""
