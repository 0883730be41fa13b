"""Runs inside the user's program and writes the journal. Standard library only.

The package has the name of the function that a program calls: `peephole.record("name.peep")`. So it can be called.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class _Record(ModuleType):
    """This package, callable."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """What `peephole.recording.record` gives; found by name, since this room knows nothing right of it."""
        return importlib.import_module("peephole.recording").record(*args, **keywords)


sys.modules[__name__].__class__ = _Record
