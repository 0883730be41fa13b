"""The page in a cell whose kernel the browser cannot reach: the cell passes the page's questions on to the kernel.

Imported where it is wanted: anywidget is there only for those who installed it.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Final

import anywidget
import traitlets

from peephole.notebook.cell import html_of
from peephole.share.asking import Unserved
from peephole.share.page import VIEWER, document
from peephole.store.capture import open_capture

_METHODS: Final = ("GET", "POST", "PUT", "DELETE")


class Bridged(anywidget.AnyWidget):  # type: ignore[misc]
    """The page, asking this kernel. In a saved notebook a table and a picture are left of it."""

    page = traitlets.Unicode().tag(sync=True)
    """The address that the frame opens: the page itself, as data."""
    height = traitlets.Int().tag(sync=True)

    def __init__(self, path: Path, height: int) -> None:
        page = base64.b64encode(b"".join(document(path.name, "bridged"))).decode("ascii")
        self._esm = (VIEWER / "cell.js").read_text(encoding="utf-8")
        super().__init__(page=f"data:text/html;base64,{page}", height=height)
        self.path = path
        self._unserved = Unserved(path)
        self.on_msg(self._asked)

    def _asked(self, _: object, question: Any, __: object) -> None:
        """Answers one question of the page; what is not one is left alone."""
        match question:
            case {"id": int(number), "path": str(path), "method": str(method), "body": str(body)} if method in _METHODS:
                reply = self._unserved.ask(path, method, body.encode("utf-8", "surrogatepass"))
                self.send({"id": number, "status": reply.status, "type": reply.type}, buffers=[reply.body])

    def __repr__(self) -> str:
        return f"peephole.view({str(self.path)!r})"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        shown = super()._repr_mimebundle_(**kwargs)
        data, about = shown if isinstance(shown, tuple) else (shown, {})
        return {**(data or {}), "text/html": html_of(open_capture(self.path))}, about
