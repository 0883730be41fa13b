"""What makes a window quick: lanes, names, pyramid, series."""
