"""A schedule's kernels, the buffers between them, and why two of them are two."""

from __future__ import annotations

from starlette.routing import Route

ROUTES: list[Route] = []
