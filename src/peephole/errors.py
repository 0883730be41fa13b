"""The errors that a user may see; `cli.main` is the one place that catches them."""

from __future__ import annotations


class PeepholeError(Exception):
    """Something the user can mend: one sentence that says what, where and what to do. Exit code 2."""


class CaptureError(PeepholeError):
    """A capture or a foreign file that cannot be read."""


class AskedError(PeepholeError):
    """A question that is wrong whatever the capture holds: a pattern that is none."""
