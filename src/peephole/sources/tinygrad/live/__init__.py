"""tinygrad's running process. Standard library only."""
