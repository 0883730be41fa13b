"""The programs that these tests replay."""

from tests.recorded_programs import add, deep, equality, passes, record, train

__all__ = ["add", "deep", "equality", "passes", "record", "train"]
