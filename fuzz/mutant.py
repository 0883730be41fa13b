"""A mutant: files, and what is asked of Peephole about them. One can be kept as a file and run again."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

Ask = tuple[str, ...]
"""Arguments of a command, or `("GET", target, capture, headers as JSON)`: a request to the server."""
_CASE: Final = "case.json"


@dataclass(frozen=True, repr=False)
class Mutant:
    """Files by name, and the questions about them, one after the other."""

    files: dict[str, bytes]
    asks: tuple[Ask, ...]

    def __repr__(self) -> str:
        return f"Mutant({self.asks})"  # not the files: Hypothesis makes a text of every mutant

    def digest(self) -> str:
        """The same for the same mutant."""
        found = hashlib.sha256(json.dumps(self.asks).encode())
        for name, data in sorted(self.files.items()):
            found.update(f"{name} {len(data)}\n".encode() + data)
        return found.hexdigest()[:12]

    def write(self, folder: Path) -> None:
        """Puts the files into a folder."""
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def packed(self, why: str) -> bytes:
        """One file of it, with a word about why it is kept; the same bytes each time."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            case = {"asks": self.asks, "why": why}
            for name, data in ((_CASE, json.dumps(case, indent=1).encode()), *sorted(self.files.items())):
                info = zipfile.ZipInfo(name)
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, data)
        return out.getvalue()


def read_mutant(path: Path) -> Mutant:
    """A mutant that was kept."""
    with zipfile.ZipFile(path) as archive:
        case = json.loads(archive.read(_CASE))
        files = {name: archive.read(name) for name in archive.namelist() if name != _CASE}
    return Mutant(files, tuple(tuple(ask) for ask in case["asks"]))
