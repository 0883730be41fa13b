"""What `peephole show` can show besides the timeline: a registry that each view's file adds one line to.

A view is a module of this package with three functions:

    sources(capture) -> list[str]           names that `show --ls` prints and `-s` takes
    claims(capture, request) -> bool        whether `-s`/`-i` name something of this view
    show(capture, request, printer) -> int  prints it and gives the exit code
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, cast

from peephole.cli.format import Printer

if TYPE_CHECKING:
    from peephole.store.capture import Capture

VIEWS: Final = ("difference", "tape", "memory", "hardware", "rewrites", "items", "runs", "context")
"""Modules of this package, asked in this order whether the request is theirs."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked `show` for."""

    source: str | None = None
    """`-s`: a track, a device's memory, a kernel's counters; None for everything."""
    items: tuple[str, ...] = ()
    """`-i`: names within it, outermost first: a context, then a step."""
    match: int | None = None
    """`--match`: which rewrite of the step."""
    first: str | None = None
    """`--from`: the graph that a difference begins with, `STEP[:MATCH]`."""
    second: str | None = None
    """`--to`: the one that it ends with."""
    top: int | None = None
    """`-t`: how many names of the most time; None for events."""
    interval: tuple[int, int] | None = None
    """`--interval`: begin and end in ns on the capture's clock."""
    listing: bool = False
    """`--ls`."""
    calls: bool = False
    """`--calls`: who called what; `items` are then words of functions' names."""
    inverted: bool = False
    """`--inverted`: functions by their own time, under each its callers."""
    by_place: bool = False
    """`--by-place`: functions of one name at different places are kept apart."""
    debug: int = 0
    """`DEBUG`: how much detail, as VIZ counts it."""


class View(Protocol):
    """See the module's text."""

    def sources(self, capture: Capture) -> list[str]:
        """Names for `-s`."""

    def claims(self, capture: Capture, request: Request) -> bool:
        """Whether the request is this view's."""

    def show(self, capture: Capture, request: Request, printer: Printer) -> int:
        """Prints; gives the exit code."""


def views() -> Iterator[View]:
    """The views, loaded one by one as they are asked."""
    for name in VIEWS:
        yield cast(View, importlib.import_module(f"peephole.cli.views.{name}"))
