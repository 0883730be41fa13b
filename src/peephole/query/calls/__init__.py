"""Who called what, and where the time of a call went: nesting of slices, call trees, flame graphs."""
