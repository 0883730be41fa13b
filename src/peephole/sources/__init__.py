"""One module or folder per producer: turns its bytes, or its live process, into rows."""
