"""Rows of any table in, a folder of sealed tables out."""
