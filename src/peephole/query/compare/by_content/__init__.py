"""The graphs of a capture by content: hashes that are equal where graphs are, and who made a graph first."""
