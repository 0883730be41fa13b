"""What held the memory, and when."""
