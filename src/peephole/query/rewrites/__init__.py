"""The passes of a compilation: the graph after any match, rules, what became of a node."""
