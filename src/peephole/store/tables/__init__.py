"""The Parquet tables of a capture and their columns in memory."""
