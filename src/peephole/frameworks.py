"""The frameworks whose programs are recorded, and which files are their own. Standard library only.

It stands on top of all rooms because both ends need it: what runs inside the recorded program looks for the line that
is the user's, and so does whoever shows a stack later.
"""

from __future__ import annotations

from typing import Final

OWN_FILES: Final = {
    "tinygrad": (
        r"[/\\]tinygrad[/\\](?:(?:uop|engine|codegen|schedule|nn|runtime|renderer|mixin|viz|llm|shape)[/\\].*"
        r"|(?:tensor|device|dtype|helpers|gradient|callify|function|frontend|__init__)\.py)\Z"
    ),
    "torch": (
        r"[/\\]torch[/\\](?:(?:_dynamo|_inductor|_functorch|_higher_order_ops|_subclasses|_logging|_library|_refs"
        r"|_decomp|_prims|_export|fx|nn|autograd|optim|utils|distributed|profiler|amp|compiler|export|ao)[/\\].*"
        r"|(?:__init__|functional|overrides|random|serialization|_\w+)\.py)\Z"
    ),
}
"""By the name of its package, a pattern of a framework's files; a user's own tree may have the same name."""

PACKAGES: Final = tuple(OWN_FILES)
"""Folders below which a file's path says enough."""
