"""Pickles from strangers: read without running anything of theirs."""
