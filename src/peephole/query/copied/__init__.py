"""The rows that a copy of a capture carries, as columns."""
