"""Dask distributed: a running cluster recorded through its own plugin interfaces."""
