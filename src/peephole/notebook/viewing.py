"""`peephole.view`: the page in a cell, from a server of this kernel, asking the kernel, or as a copy."""

from __future__ import annotations

import base64
import importlib.util
import os
import sys
import tempfile
import threading
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from peephole.errors import PeepholeError
from peephole.notebook.cell import CaptureCell, html_of
from peephole.store.capture import Capture, open_capture

if TYPE_CHECKING:
    from peephole.notebook.widget import Bridged

COPY_LIMIT = 8_000_000
"""Bytes of a copy that goes into a cell: it is kept in the notebook too."""
_REMOTE = ("JUPYTERHUB_API_URL", "COLAB_RELEASE_TAG", "COLAB_GPU", "KAGGLE_KERNEL_RUN_TYPE", "SSH_CONNECTION",
           "CODESPACES", "BINDER_SERVICE_HOST", "DATABRICKS_RUNTIME_VERSION")  # fmt: skip
"""Set where the browser is on another machine than the kernel."""

_lock = threading.Lock()
_addresses: dict[Path, str] = {}


class View:
    """The page of a capture in a cell."""

    def __init__(self, path: Path, frame: str) -> None:
        self._path = path
        self._frame = frame

    def __repr__(self) -> str:
        return f"peephole.view({str(self._path)!r})"

    def _repr_html_(self) -> str:
        return self._frame


def view(
    capture: str | os.PathLike[str] | Capture | CaptureCell | Any,
    height: int = 640,
    where: Literal["auto", "server", "widget", "copy"] = "auto",
) -> View | Bridged:
    """The page of a capture, to be shown by a cell.

    `where`: "server" shows it from this kernel, which the browser must reach at 127.0.0.1; "widget" has the cell ask
    the kernel, wherever that is, which needs anywidget; "copy" puts a shared copy into the cell, which needs nobody;
    "auto" chooses by whether the kernel seems to run on the browser's machine, and whether anywidget is installed.
    """
    path = Path(capture if isinstance(capture, (str, os.PathLike)) else capture.path)
    there = importlib.util.find_spec("anywidget") is not None
    if where == "auto":
        where = "server" if not is_remote() else "widget" if there else "copy"
    if where == "widget":
        if not there:
            raise PeepholeError('where="widget" needs another package: pip install anywidget.')
        from peephole.notebook.widget import Bridged

        return Bridged(path, int(height))
    own = where == "copy"
    source = _copied(path) if own else _served(path)
    picture = html_of(open_capture(path)) if not own else ""
    frame = (
        f'<iframe src="{escape(source)}" width="100%" height="{int(height)}" title="Peephole" frameborder="0"></iframe>'
    )
    # where a saved notebook is read without its kernel the table is what is left
    return View(
        path, frame + (f"<details><summary>{escape(path.name)}</summary>{picture}</details>" if picture else "")
    )


def is_remote() -> bool:
    """Whether the browser is most likely on another machine."""
    return "google.colab" in sys.modules or any(os.environ.get(name) for name in _REMOTE)


def _copied(path: Path) -> str:
    from peephole.share.making import VIEWS, make_copy

    with tempfile.TemporaryDirectory(prefix="peephole-view-") as folder:
        # without rewrites: making their graphs takes longer than one waits for a cell
        views = [one for one in VIEWS if one != "rewrites"]
        made = make_copy(open_capture(path), Path(folder) / "copy.html", None, views, COPY_LIMIT)
        return "data:text/html;base64," + base64.b64encode(made.path.read_bytes()).decode()


def _served(path: Path) -> str:
    with _lock:
        resolved = path.resolve()
        if resolved not in _addresses:
            _addresses[resolved] = _start(resolved)
        return _addresses[resolved]


def _start(path: Path) -> str:
    """The address of a server in a thread of this process, which ends with it."""
    import socket

    import uvicorn

    from peephole.server.app import create_app
    from peephole.server.library import Library
    from peephole.server.security import Gate

    sock = socket.create_server(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    app = create_app(Library([path], 1), Gate(framed=True))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True, name="peephole-view")
    thread.start()
    return f"http://127.0.0.1:{port}/"
