"""Knowing a file of XLA by its first bytes. Standard library only and quick: every file is asked."""

from __future__ import annotations

from peephole.sources.xla.wire import Cut, varint


def is_module_text(head: bytes) -> bool:
    """Whether it is HLO as text."""
    return head.startswith(b"HloModule ")


def is_proto(head: bytes) -> bool:
    """Whether it is a module or a profile as a protocol buffer."""
    return is_module_proto(head) or is_profile(head)


def is_module_proto(head: bytes) -> bool:
    """Whether it is an HloProto, or an HloModuleProto by itself: name, name of the entry, computations."""
    inner = _inside(head)
    return inner is not None and (_is_module(inner) or _is_module(head))


def is_profile(head: bytes) -> bool:
    """Whether it is an XSpace: planes with a name, lines and tables of names."""
    inner = _inside(head)
    if inner is None:
        return False
    try:
        at = 0
        if inner[at] == 0x08:  # id
            at = varint(inner, 1)[1]
        name, at = _text(inner, at, 0x12)
    except (Cut, IndexError, ValueError):
        return False
    # an empty plane ends with its name; what follows a name is a line, a table or a fact
    return bool(name) and (at >= len(inner) or inner[at] in (0x1A, 0x22, 0x2A, 0x32))


def _is_module(data: bytes) -> bool:
    try:
        name, at = _text(data, 0, 0x0A)
        entry, at = _text(data, at, 0x12)
        return bool(name and entry) and data[at] == 0x1A
    except (Cut, IndexError, ValueError):
        return False


def _inside(head: bytes) -> bytes | None:
    """What the first field holds, as far as it is there."""
    if head[:1] != b"\x0a":
        return None
    try:
        size, at = varint(head, 1)
    except Cut:
        return None
    return head[at : at + size] or None


def _text(data: bytes, at: int, tag: int) -> tuple[str, int]:
    if data[at] != tag:
        raise ValueError
    size, at = varint(data, at + 1)
    text = data[at : at + size].decode()
    if len(text) < 1 or not text.isprintable() or at + size > len(data):
        raise ValueError
    return text, at + size
