"""The program whose capture these tests share."""

from tests.recorded_programs import add, equality, record

__all__ = ["add", "equality", "record"]
