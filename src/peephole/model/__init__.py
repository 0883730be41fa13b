"""What a capture holds, as data. Imports nothing of ours and nothing outside the standard library."""
