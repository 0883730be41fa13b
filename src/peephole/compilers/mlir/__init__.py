"""MLIR: operations of any dialect."""
