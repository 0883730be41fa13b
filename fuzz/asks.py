"""Questions about a capture: commands and requests, from the cheap to the thorough."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Final

from fuzz.edits import NUMBERS, TEXTS, Draw
from fuzz.mutant import Ask
from hypothesis import strategies as st

C: Final = "c.peep"
COMMANDS: Final[tuple[Ask, ...]] = (
    ("info", C),
    ("info", "--json", C),
    ("show", C),
    ("show", "--json", C),
    ("show", "--csv", C),
    ("show", "-t", "20", C),
    ("show", "--ls", C),
    ("show", "-s", "TINY", C),
    ("show", "-s", "CPU Memory", C),
    ("show", "-s", "gemm SQTT SE:0 PKTS", C),
    ("show", "-t", "5", "-s", "gemm SQTT SE:0 PKTS", C),
    ("show", "-s", "All Counters", C),
    ("show", "--interval", "0", "1ms", C),
    ("idle", C),
    ("rules", C),
    ("problems", C),
    ("top", "--once", C),
    ("visualize", "-o", "out.png", C),
    ("export", "-o", "out.json", C),
    ("export", "--format", "bytepack", "-o", "out.bytepack", C),
    ("pack", "-o", "out.peep.zip", C),
    ("query", "SELECT * FROM slices", C),
    ("query", "--json", "SELECT count(*), max(start + dur) FROM slices", C),
    ("why", "0", "1", C),
    ("origin", "E_3", C),
    ("notes", C),
    ("notes", "--json", C),
    ("search", "k", C),
    ("show", "--calls", C),
    ("ranks", C),
    ("ranks", "--collectives", "--json", C),
    ("ranks", "--idle", C),
    ("ranks", "--step", "1", C),
    ("fleet", C),
    ("diff", C, C),
    ("share", "-o", "out.html", C),
    *(("export", "--format", form, "-o", "out", C) for form in ("perfetto", "collapsed", "speedscope", "pprof")),
)
_RARE: Final = ("visualize", "share", "diff")
"""Commands that take a second."""
_SOUND: Final = {
    "t0": "0", "t1": "100000000", "px": "800", "lanes": "0:0,1:0,3:0", "counters": "7", "memory": "CPU", "row": "0",
    "track": "3", "depth": "0", "time": "10", "most": "100", "first": "0", "count": "100",
    "match": "1", "identity": "1",
    "node": "1", "name": "0", "group": "kernels", "tracks": "3", "q": "k", "place": "0", "limit": "10", "file": "x.py",
    "line": "1", "a": "0", "b": "1", "device": "CPU", "v0": "0", "v1": "100", "run": "1", "per": "1000",
    "operations": "1",
}  # fmt: skip
_QUERY: Final = tuple(_SOUND)
_HOSTS: Final = (
    "localhost",
    "127.0.0.1",
    "[::1]",
    "[::1].evil.com",
    "evil.com",
    "",
    "localhost:8800",
    "[",
    "::1",
    "a" * 3000,
)


@cache
def routes() -> tuple[str, ...]:
    """The paths of the API, with the parameters as placeholders, and those of the page."""
    from peephole.server.routes import api_routes

    return (*("/api/v1" + route.path for route in api_routes()), "/", "/assets/{name}", "/{name}")


def some_request(draw: Draw, capture: str = C, wild: bool = False) -> Ask:
    """A request about a capture; a wild one has parameters and headers that no page sends."""
    handle = Path(capture).name.partition(".")[0]

    def word(sound: str) -> str:
        if not wild or draw(st.booleans()):
            return sound
        return str(draw(st.sampled_from((*TEXTS, *NUMBERS, "0x10", "1e3", "1,2", "0:0", "٣", "+1", "%00")))).replace(
            "?", ""
        )

    path = re.sub(
        r"\{(\w+)(?::\w+)?\}",
        lambda found: handle if found[1] == "capture" else word(draw(st.sampled_from(("0", "1", "2", "5")))),
        draw(st.sampled_from(routes())),
    )
    names = draw(st.lists(st.sampled_from(_QUERY), max_size=3, unique=True)) if wild else _QUERY
    query = "&".join(f"{name}={word(_SOUND[name])}" for name in names)
    headers: dict[str, str] = {}
    if wild and draw(st.integers(0, 3)) == 0:
        key = draw(
            st.sampled_from(("Host", "Origin", "Cookie", "Authorization", "Accept-Encoding", "Range", "Sec-Fetch-Site"))
        )
        value = draw(st.sampled_from((*_HOSTS, *TEXTS)))
        headers[key] = value.encode("latin-1", "replace").decode("latin-1")
    return ("GET", f"{path}?{query}", capture, json.dumps(headers))


def some_asks(draw: Draw, capture: str = C, most: int = 3) -> tuple[Ask, ...]:
    """A few questions about a capture."""
    asks = []
    for _ in range(draw(st.integers(1, most))):
        if draw(st.integers(0, 2)) == 0:
            asks.append(some_request(draw, capture))
            continue
        ask = draw(st.sampled_from(COMMANDS))
        if ask[0] in _RARE and draw(st.integers(0, 5)):
            ask = COMMANDS[0]
        asks.append(tuple(capture if word == C else word for word in ask))
    return tuple(asks)
