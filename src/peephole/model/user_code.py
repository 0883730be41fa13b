"""Whose line a frame of a stack is: the user's, or that of a library it was called through. Standard library only."""

from __future__ import annotations

import re
from typing import Final

from peephole.frameworks import OWN_FILES

_LIBRARY: Final = re.compile(
    "|".join(OWN_FILES.values()) + r"|[/\\]lib[/\\]python3[.\d]*[/\\](?!(?:site|dist)-packages[/\\])"
    r"|[/\\](?:contextlib|functools)\.py\Z"
    r"|[/\\]peephole[/\\](?:record|sources)[/\\].*\.py\Z"
)
"""Files of a framework's package, of Python's own and of ours."""
_INSTALLED: Final = re.compile(r"[/\\](?:site|dist)-packages[/\\]")


def is_library_file(file: str) -> bool:
    """Whether a file is a framework's, Python's own or ours."""
    return _LIBRARY.search(file) is not None


def is_users(file: str, function: str) -> bool:
    """Whether a frame is of the user's program or of a package that it uses."""
    # generated code (a dataclass's __init__) is called <string>, like the program of `python -c`
    return not is_library_file(file) and not (file.startswith("<") and function != "<module>")


def is_installed(file: str) -> bool:
    """Whether a file belongs to an installed package."""
    return _INSTALLED.search(file) is not None
