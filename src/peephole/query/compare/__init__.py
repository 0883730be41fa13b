"""What two recordings have in common and where they part: content, kernels, times, memory, rules."""
