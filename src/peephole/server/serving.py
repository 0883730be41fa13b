"""Runs the application: finds a port, says where it is, opens the browser, stops on Ctrl-C."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from peephole.errors import PeepholeError
from peephole.server.arriving import Arriving

if TYPE_CHECKING:
    import uvicorn

    from peephole.server.library import Library

PORT = 8800
TRIES = 50
_TAKEN = {errno.EADDRINUSE, errno.EACCES}


def bind(host: str, port: int) -> socket.socket:
    """A listening socket on that port or, when it is taken, on the next free one. Port 0: any."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
    except (OSError, UnicodeError) as error:
        raise PeepholeError(
            f"{host!r} is no address of this machine ({error}); leave --host out for loopback."
        ) from None
    for candidate in [port] if port == 0 else range(port, min(port + TRIES, 65536)):
        sock = socket.socket(family, socket.SOCK_STREAM)
        # without it a restarted server would find its own port taken for a minute
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, candidate))
            sock.listen(128)
            return sock
        except OSError as error:
            sock.close()
            if error.errno not in _TAKEN:
                raise PeepholeError(
                    f"Cannot listen on {host} ({error.strerror}); leave --host out for loopback."
                ) from None
    raise PeepholeError(f"Ports {port} to {port + TRIES - 1} of {host} are all taken; give another with --port.")


def can_open_browser() -> bool:
    """True in an interactive session that has a screen."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or "SSH_CONNECTION" in os.environ or "CI" in os.environ:
        return False
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True


def is_loopback(host: str) -> bool:
    """True for an address that only this machine can reach."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(
    paths: Sequence[Path | Arriving],
    host: str = "127.0.0.1",
    port: int = PORT,
    open_browser: bool = True,
    say: Callable[[str], None] = print,
    place: str = "",
    named: int = 0,
) -> int:
    """Serves captures until it is told to stop; the exit code. `place` is the part of the address after the slash;
    `named` says how many of the captures, the first ones, the user asked for.

    The socket listens before anything large is imported: the browser connects meanwhile and waits in line.
    """
    sock = bind(host, port)
    actual = int(sock.getsockname()[1])
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    shown = f"[{host}]" if ":" in host else socket.gethostname() if host in ("0.0.0.0", "") else host
    address = f"http://{shown}:{actual}/" + (f"?token={token}" if token else "") + place
    if port not in (0, actual):
        say(f"Port {port} is taken; using {actual}.")
    say(f"Peephole is at {address} (Ctrl-C stops it)")
    sys.stdout.flush()
    for path in paths:
        if isinstance(path, Arriving):
            path.start()
    if open_browser and can_open_browser():
        threading.Thread(target=_open, args=(address,), daemon=True).start()

    import uvicorn

    from peephole.server.app import create_app
    from peephole.server.library import Library
    from peephole.server.security import gate_for

    library = Library(paths, named)
    app = create_app(library, gate_for(host, actual, token))
    # the application reports its own faults; what uvicorn would add is the noise of requests cut off at the end
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    failed: list[PeepholeError] = []
    # not a daemon: a capture that is being written when the user stops the server is written whole, or not at all
    threading.Thread(target=_receive, args=(library, server, failed)).start()
    # uvicorn raises a signal again once it has stopped; here the stop was the point, so nothing more happens
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        server.run(sockets=[sock])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sock.close()
    if failed:
        raise failed[0]
    return 0


def _receive(library: Library, server: uvicorn.Server, failed: list[PeepholeError]) -> None:
    """Brings the captures that are still to come, while the browser loads the page; without one the server ends."""
    for shelf in library.shelves():
        try:
            with shelf.lock:
                if shelf.bring is not None:
                    shelf.open()
        except PeepholeError as error:
            failed.append(error)
            server.should_exit = True
            return
    threading.Thread(target=_get_ready, args=(library,), daemon=True).start()


def _get_ready(library: Library) -> None:
    """While the browser loads the page: two captures that were given together compared; what timeline and hardware
    trace need, when the first capture has them.

    Once the page asks, it asks for what it needs.
    """
    if library.named == 2:
        from peephole.server.routes import compare

        with contextlib.suppress(PeepholeError):
            compare.get_ready(*library.shelves()[:2])
    for shelf in library.shelves()[:1]:
        if shelf.asked:
            return
        from peephole.query.capture.info import holds
        from peephole.server.routes import timeline

        # a capture that cannot be opened says so when somebody asks for it
        with contextlib.suppress(PeepholeError):
            with shelf.lock:
                capture = shelf.open()
            timeline.get_ready(shelf, capture)
            if not capture.live and holds(capture, "hardware"):
                from peephole.query.hardware.ready import get_ready

                get_ready(capture)


def _open(address: str) -> None:
    import webbrowser

    webbrowser.open(address)
