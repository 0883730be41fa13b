"""What a capture holds: contexts, names, stacks, search."""
