"""XLA's HLO."""
