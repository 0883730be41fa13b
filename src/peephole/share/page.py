"""A page that is one file: the viewer and, for a copy, its parts, under a policy that lets nothing in or out."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from peephole.errors import PeepholeError

VIEWER = Path(__file__).parent.parent / "server" / "static" / "share"

_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types default"
)


def viewer(name: str = "shared") -> tuple[bytes, bytes]:
    """Script and style of the page that answers its own questions; PeepholeError when it is not built."""
    try:
        script, style = ((VIEWER / f"{name}{ending}").read_bytes() for ending in (".js", ".css"))
    except OSError:
        raise PeepholeError("The page is not built, so there is nothing to put a copy into: run `make web`.") from None
    if b"</script" in script.lower() or b"<!--" in script or b"</style" in style.lower():
        raise PeepholeError("The page's script cannot stand inside a file: build it again with `make web`.")
    return script, style


def page(title: str, manifest: Mapping[str, Any], texts: list[bytes]) -> Iterator[bytes]:
    """The bytes of the file, piece by piece."""
    # data: neither an element nor a comment can begin in it
    facts = json.dumps(manifest, ensure_ascii=True).replace("<", "\\u003c")
    data = [b'<script type="application/json" id="peephole-copy">', facts.encode(), b"</script>\n"]
    for number, text in enumerate(texts):
        data += [f'<script type="application/octet-stream" id="peephole-part-{number}">'.encode(), text, b"</script>\n"]
    return document(title, "shared", data)


def document(title: str, name: str, data: Iterable[bytes] = ()) -> Iterator[bytes]:
    """A page that is one file, under the policy: the viewer of that name, and data in elements."""
    script, style = viewer(name)
    policy = _POLICY.format(script=_hash(script), style=_hash(style))
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="dark light">\n<meta name="referrer" content="no-referrer">\n'
        f'<title>{_escaped(title)}</title>\n<link rel="icon" href="data:,">\n<style>'
    ).encode()
    yield style
    yield b"</style>\n</head>\n<body>\n"
    yield from data
    yield b"<script>"
    yield script
    yield b"</script>\n</body>\n</html>\n"


def _hash(content: bytes) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()


def _escaped(text: str) -> str:
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
