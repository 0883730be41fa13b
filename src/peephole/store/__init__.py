"""The capture on disk. The only room that imports pyarrow."""
