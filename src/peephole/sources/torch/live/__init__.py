"""Recording torch.compile inside the user's program. Standard library only: torch is looked at, never imported."""
