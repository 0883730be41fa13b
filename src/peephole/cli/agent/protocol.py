"""The Model Context Protocol over standard input and output: JSON-RPC 2.0, one message a line, tools only."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, TextIO

from peephole.cli.agent.sizes import plain
from peephole.cli.agent.tools import Tool
from peephole.errors import PeepholeError

VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol that this speaks, newest first: they differ in nothing that is used here."""
_LONGEST: Final = 1 << 20
"""Characters of a request that are read."""
_LONGEST_REFUSAL: Final = 2_000
"""Characters of why a tool cannot answer."""

_PARSE, _REQUEST, _METHOD, _PARAMS = -32700, -32600, -32601, -32602


class Fault(Exception):
    """A message that is not a proper request: its code and one sentence."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Server:
    """Answers messages about a table of tools."""

    def __init__(
        self, tools: Sequence[Tool], call: Callable[[Tool, dict[str, Any]], dict[str, Any]], facts: dict[str, Any]
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._call = call
        self._facts = facts

    def run(self, requests: TextIO, replies: TextIO) -> None:
        """Answers until there are no more messages."""
        while line := requests.readline(_LONGEST + 1):
            if len(line) > _LONGEST:
                while line and not line.endswith("\n"):
                    line = requests.readline(_LONGEST)
                reply: dict[str, Any] | None = _failed(None, _REQUEST, "The request is longer than a megabyte.")
            else:
                reply = self.answer(line)
            if reply is not None:
                replies.write(json.dumps(reply, separators=(",", ":"), allow_nan=False) + "\n")
                replies.flush()

    def answer(self, line: str) -> dict[str, Any] | None:
        """The reply to one line; none to a blank one or a notification."""
        if not line.strip():
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _failed(None, _PARSE, "The line is not JSON.")
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            if isinstance(message, dict) and ("result" in message or "error" in message):
                return None  # a reply, to a question that we never ask
            return _failed(None, _REQUEST, "A request is an object with a method.")
        number = message.get("id")
        if "id" not in message:
            return None
        try:
            return {"jsonrpc": "2.0", "id": number, "result": self._result(message["method"], message.get("params"))}
        except Fault as fault:
            return _failed(number, fault.code, str(fault))

    def _result(self, method: str, params: Any) -> dict[str, Any]:
        if params is not None and not isinstance(params, dict):
            raise Fault(_PARAMS, "The parameters are an object.")
        params = params or {}
        if method == "initialize":
            wanted = params.get("protocolVersion")
            version = wanted if wanted in VERSIONS else VERSIONS[0]
            return {"protocolVersion": version, "capabilities": {"tools": {"listChanged": False}}, **self._facts}
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": [tool.described() for tool in self._tools.values()]}
        if method == "tools/call":
            return self._called(params)
        raise Fault(_METHOD, f"There is no method {method[:80]!r}.")

    def _called(self, params: dict[str, Any]) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise Fault(_PARAMS, f"There is no tool {str(name)[:80]!r}; tools/list names them.")
        if arguments is not None and not isinstance(arguments, dict):
            raise Fault(_PARAMS, "The arguments of a tool are an object.")
        try:
            answer = self._call(tool, tool.checked(arguments or {}))
        except (PeepholeError, OSError) as error:
            return {"content": [{"type": "text", "text": plain(str(error), _LONGEST_REFUSAL)}], "isError": True}
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
        return {"content": [{"type": "text", "text": text}], "structuredContent": answer, "isError": False}


def _failed(number: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
