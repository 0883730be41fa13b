"""The journals of recorded processes, from segments to a sealed capture."""
