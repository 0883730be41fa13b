"""Who may talk to the server: Host, Origin and token checks, and the headers that every answer carries.

A page on another site can make the browser send requests to loopback, and with DNS rebinding it can even make them
look like its own. So a request must name a host that we listen on (rebinding), must not come from another origin,
and, when we listen beyond loopback, must know the token.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from peephole.server.replies import refuse

LOOPBACK: frozenset[str] = frozenset({"127.0.0.1", "localhost", "::1"})

CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # no text can become markup or a script's address by mistake: the browser refuses the assignment
        "require-trusted-types-for 'script'",
        "trusted-types default",
    )
)

_HOST = re.compile(r"(?:\[([0-9a-f:.%]{2,60})\]|([^\[\]:@/?#\s]{1,255}))(?::[0-9]{1,5})?")
"""A name or an address in brackets, and nothing but a port behind it."""

HEADERS: dict[str, str] = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}

FRAMED: dict[str, str] = {
    **{name: value for name, value in HEADERS.items() if name != "X-Frame-Options"},
    "Content-Security-Policy": CONTENT_POLICY.replace(
        "frame-ancestors 'none'", "frame-ancestors http://localhost:* http://127.0.0.1:* vscode-webview: vscode-file:"
    ),
}
"""The same where a notebook on this machine shows the page in a cell: it alone may frame it. All that is around a
frame has to be named: in VS Code the cell's own page, and the window that this lies in."""


@dataclass(frozen=True)
class Gate:
    """What a request must show: a host of ours, and the token when there is one."""

    hosts: frozenset[str] = LOOPBACK
    token: str | None = None
    cookie: str = field(default="peephole")
    framed: bool = False
    """Whether a notebook of this machine may show the page in a cell."""

    def host_known(self, host: str) -> bool:
        """True for a Host header that names this server. Behind a token any address of a machine will do: a
        rebound name has no cookie."""
        name = _hostname(host)
        return name in self.hosts or (self.token is not None and _is_address(name))

    def token_fits(self, given: str | None) -> bool:
        """True when no token is needed or this is it."""
        if self.token is None:
            return True
        return given is not None and hmac.compare_digest(given.encode(), self.token.encode())


def gate_for(host: str, port: int, token: str | None) -> Gate:
    """The gate of a server bound to this address: loopback names, or those of this machine behind a token."""
    if token is None:
        return Gate(LOOPBACK | {host.lower()})
    names = {host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
    return Gate(LOOPBACK | frozenset(names), token, f"peephole_{port}")


class Guard:
    """ASGI middleware that lets through what the gate allows and adds the headers to every answer."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self.app = app
        self.gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers or passes on one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no websockets here; an unanswered scope is a closed connection

        async def guarded_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in (FRAMED if self.gate.framed else HEADERS).items():
                    headers[name] = value
            await send(message)

        response = self._refusal(scope) or self._entry(scope)
        await (response or self.app)(scope, receive, guarded_send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or not self.gate.host_known(headers["host"]):
            return refuse(421, "This server answers only to its own address; use the one that it printed.")
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope.get('scheme', 'http')}://{headers['host']}":
            return refuse(403, "Requests from another site are not answered.")
        site = headers.get("sec-fetch-site", "none")
        is_page = scope["path"] == "/" and headers.get("sec-fetch-mode", "navigate") == "navigate"
        if site not in ("same-origin", "none") and not is_page:
            return refuse(403, "Requests from another site are not answered.")
        return None

    def _entry(self, scope: Scope) -> Response | None:
        """None when the request may pass; a redirect that keeps the token as a cookie and takes it out of the address;
        a refusal otherwise."""
        gate = self.gate
        if gate.token is None:
            return None
        headers = Headers(scope=scope)
        scheme, _, value = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and gate.token_fits(value.strip()):
            return None
        try:
            jar = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            jar = SimpleCookie()
        if gate.cookie in jar and gate.token_fits(jar[gate.cookie].value):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if scope["path"] == "/" and gate.token_fits(dict(query).get("token", "")):
            rest = urlencode([(key, text) for key, text in query if key != "token"])
            response = RedirectResponse("/" + (f"?{rest}" if rest else ""), 303)
            response.set_cookie(gate.cookie, quote(gate.token), httponly=True, samesite="strict")
            return response
        return refuse(401, "This server needs its token: open the address that `peephole serve` printed.")


def _hostname(host: str) -> str:
    """The name part of a Host header, lower case, without port and brackets; empty for what is no name and port."""
    found = _HOST.fullmatch(host.strip().lower())
    return "" if found is None else found[1] or found[2].rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
