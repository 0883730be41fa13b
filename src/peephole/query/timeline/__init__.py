"""What ran when: tracks, slices, gaps, sums."""
