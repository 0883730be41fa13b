"""Captures in a notebook: a table and a small picture in a cell, the page, a cell that is recorded."""
