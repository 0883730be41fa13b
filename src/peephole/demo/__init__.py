"""The program that `peephole demo` records."""
