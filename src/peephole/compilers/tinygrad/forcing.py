"""Why a value of a schedule was put into memory, read from the trace alone.

A value that is stored between two kernels appears as a STAGE in `apply rangeify`, goes through the passes after it and
becomes a BUFFER in `stage to store`. tinygrad's decisions themselves leave no match; they are worked out again from
the graphs on both sides of them. The rules are those of tinygrad 0.14.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from peephole.compilers.tinygrad import passes
from peephole.compilers.tinygrad.lineage import Lineage, Stage
from peephole.compilers.tinygrad.ops import MOVEMENT, base
from peephole.compilers.tinygrad.stored import Source, Stored

_SLOT = re.compile(r"slot=(-?\d+)")
ALLREDUCE = "the parts of all devices are put together out of whole buffers"
ASSIGNED = "the program stores it into a buffer that it has already"
CONTIGUOUS = "contiguous() was asked for"
COPIED = "a copy to another device is a job of its own"
DEEP = 7
"""Levels of a replacement that are searched for what its rule put in."""


@dataclass(frozen=True, slots=True)
class Force:
    """What put a buffer between two kernels: the reason, the node (of the pool), the pass and match that show it."""

    reason: str
    text: str
    node: int | None
    stage: Stage | None
    match: int
    kept: str | None = None
    tensors: tuple[int, ...] = ()
    """Nodes of the user's graph that the node came from."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A STAGE as `apply rangeify` made it: the value in it, the match, and how its readers index it."""

    value: int
    match: int
    stage: int


class Forcing:
    """The reasons of one schedule; everything is indexed once. `ends` is what its kernels were split off from."""

    def __init__(self, lineage: Lineage, ends: Mapping[int, int]) -> None:
        self._lineage = lineage
        self._pool = lineage.pool
        self._ends = ends
        self._written = Stored(lineage)

    def of(self, buffer: int, kernel: int) -> Force:
        """Why what this kernel computes stands in that BUFFER or PARAM between kernels."""
        return self._param(buffer, kernel) if self._pool.op(buffer) == "PARAM" else self._buffer(buffer)

    def _buffer(self, buffer: int) -> Force:
        lineage = self._lineage
        copies = lineage.stage(passes.COPY)
        if copies is not None and buffer in copies.first_match:
            match = copies.first_match[buffer]
            node = copies.before[match - 1]
            return self._force("device copy", COPIED, node, copies, match)
        earliest = lineage.stage(passes.EARLIEST)
        if earliest is not None and buffer in earliest.first_match:
            match = earliest.first_match[buffer]
            node = earliest.before[match - 1]
            if self._pool.op(node) == "ALLREDUCE":
                return self._force("several devices", ALLREDUCE, node, earliest, match)
        stores = lineage.stage(passes.STORES)
        found = self._stores.get(buffer)
        if stores is None or found is None:
            return Force("unknown", "the trace does not show where this buffer came from", None, None, 0)
        match, staged = found
        limit = lineage.stage(passes.LIMIT)
        origin = self._staged.get(staged)
        kept = self._kept(staged)
        if origin is None and limit is not None and staged in limit.first_match:
            match = limit.first_match[staged]
            value = self._pool.src[staged][0]
            text = "the kernel would read more buffers than the device can bind"
            return self._force("buffer limit", text, value, limit, match, kept)
        if origin is None:
            return self._force("unknown", "the pass that stored it is known, not the reason", None, stores, match, kept)
        return self._reason(origin, kept)

    def _reason(self, origin: Staged, kept: str | None) -> Force:
        node, pool = origin.value, self._pool
        apply = self._lineage.stage(passes.APPLY)
        if node in self._inserted:
            reason, text, stage, match = self._inserted[node]
            return self._force(reason, text, node, stage, match, kept)
        if pool.op(node) == "CONTIGUOUS":
            return self._force("explicit contiguous", CONTIGUOUS, node, apply, origin.match, kept)
        readers = {pool.op(reader) for reader in self._readers.get(node, ())}
        if readers & {"MSELECT", "MSTACK"}:
            reason, text = "several devices", "each device needs its own part as a buffer"
        elif "CALL" in readers:
            reason, text = "custom kernel", "the input of a custom kernel must be a whole buffer"
        elif "STORE" in readers and self._hazard(node):
            reason, text = "assign hazard", "the assignment reads what it overwrites"
        elif len(self._indexings(origin.stage)) > 1:
            count = len(self._readers.get(node, ()))
            reason, text = "readers index differently", f"its {count} readers go through it in different orders"
        elif self._reduces(node):
            reason, text = "reduce then expand", "it would be reduced again for every copy that it is expanded to"
        else:
            reason, text = "value expanded", "it would be computed again for every copy that it is expanded to"
        return self._force(reason, text, node, apply, origin.match, kept)

    def _param(self, param: int, kernel: int) -> Force:
        """A buffer of the program: copied to, assigned to, realized, or made by contiguous()."""
        pool, end = self._pool, self._ends.get(kernel)
        if end is None:
            return self._custom(param)
        source = self._written.source(end)
        if self._written.copies(end):
            return self._copied(end, source)
        if source is None:
            return Force("realized output", "it is a buffer of the program", param, None, 0)
        stage = self._written.stage(source)
        if stage is None:
            return Force("assign", ASSIGNED, source.store, None, 0, None, (source.store,))
        before = stage.before[source.match - 1]
        tagged = next((n for n, after in enumerate(stage.after, 1) if after == before), 0)
        if tagged and pool.op(stage.before[tagged - 1]) not in ("CONTIGUOUS", "AFTER"):
            text = "the program realizes this tensor"
            return self._force("realized output", text, stage.before[tagged - 1], stage, tagged)
        return self._force("explicit contiguous", CONTIGUOUS, before, stage, source.match)

    def _copied(self, end: int, source: Source | None) -> Force:
        """What a copy writes: the COPY in the program's graph, and the match that made a job of it."""
        stage, match = self._written.copy_match(end)
        node = None if stage is None else stage.before[match - 1]
        if node is not None and self._pool.op(node) == "STORE":
            node = self._pool.src[node][1]
        force = self._force("device copy", COPIED, node, stage, match)
        if source is None:
            return force
        asked = self._pool.src[source.store][1]
        while self._pool.op(asked) in ("CAST", "CONTIGUOUS", *MOVEMENT):
            asked = self._pool.src[asked][0]
        return replace(force, tensors=tuple(self._tensors(asked) if source.match else (asked,)) or force.tensors)

    def _custom(self, param: int) -> Force:
        """A kernel that the program wrote itself was split off from nothing."""
        pool = self._pool
        buffer, root = self._buffer_of(param, self._lineage.stage(passes.REPLACE)), self._lineage.root(passes.TENSORS)
        for node in pool.walk(root) if root is not None and buffer is not None else ():
            calls = [s for s in pool.src[node][1:] if pool.op(s) == "CALL"] if pool.op(node) == "AFTER" else []
            if calls and base(pool, node) == buffer:
                text = "what a custom kernel writes is a whole buffer"
                return Force("custom kernel", text, calls[0], None, 0, None, (calls[0],))
        return Force("realized output", "it is a buffer of the program", param, None, 0)

    def _force(
        self, reason: str, text: str, node: int | None, stage: Stage | None, match: int, kept: str | None = None
    ) -> Force:
        tensors = () if node is None else tuple(self._tensors(node))
        return Force(reason, text, node, stage, match, kept, tensors)

    def _tensors(self, node: int) -> list[int]:
        lineage = self._lineage
        early = (*passes.CALLIFY_PASSES, passes.MULTI, passes.EARLIEST)
        whole = early if self._pool.op(node) == "COPY" else (*early, passes.COPY)
        ways = (whole, (passes.NUMBER,), (passes.NUMBER, passes.TRANSFORM))
        found = next((nodes for way in ways if (nodes := lineage.origins_of(way).get(node))), None)
        if found is not None:
            same = [origin for origin in found if self._pool.op(origin) == self._pool.op(node)]
            found = same or found
        if found is None and self._pool.op(node) in ("CONTIGUOUS", "COPY", *MOVEMENT):
            return self._tensors(self._pool.src[node][0])
        return found or []

    @cached_property
    def _stores(self) -> dict[int, tuple[int, int]]:
        """The match of `stage to store` that made a BUFFER, and the STAGE that it was before that pass."""
        stage, pool = self._lineage.stage(passes.STORES), self._pool
        found: dict[int, tuple[int, int]] = {}
        if stage is None:
            return found
        flat: dict[int, int] = {}
        for number, (before, after) in enumerate(zip(stage.before, stage.after, strict=True), 1):
            if pool.op(before) != "STAGE":
                continue
            inner = after
            while pool.op(inner) in (*MOVEMENT, "CAST"):
                inner = pool.src[inner][0]
            if pool.op(inner) == "STAGE":
                flat.setdefault(inner, before)
            elif pool.op(inner) == "AFTER" and pool.op(pool.src[inner][0]) == "BUFFER":
                found.setdefault(pool.src[inner][0], (number, flat.get(before, before)))
        return found

    @cached_property
    def _staged(self) -> dict[int, Staged]:
        """STAGEs before `stage to store` by what `apply rangeify` put into them."""
        apply, pool, lineage = self._lineage.stage(passes.APPLY), self._pool, self._lineage
        found: dict[int, Staged] = {}
        if apply is None:
            return found
        for number, (before, after) in enumerate(zip(apply.before, apply.after, strict=True), 1):
            sources = set(pool.src[before])
            for stage in self._below(after, "STAGE"):
                if pool.src[stage][0] not in sources:
                    continue
                made = stage
                for name in (passes.APPLY, passes.DEVICE, passes.SYMBOLIC, passes.LIMIT):
                    one = lineage.stage(name)
                    made = made if one is None else one.value.get(made, made)
                    while pool.op(made) in MOVEMENT:
                        made = pool.src[made][0]
                value = pool.src[stage][0]
                # one that only moves what another holds was taken out: the buffer is the other's, which is a source
                if made not in found or value < found[made].value:
                    found[made] = Staged(value, number, stage)
        return found

    @cached_property
    def _indexed(self) -> dict[int, set[tuple[int, ...]]]:
        """How each STAGE of `apply rangeify` is indexed, without what only says where an index is valid."""
        apply, pool = self._lineage.stage(passes.APPLY), self._pool
        found: dict[int, set[tuple[int, ...]]] = {}
        for after in apply.after if apply is not None else ():
            for index in self._below(after, "INDEX"):
                stage, *places = pool.src[index]
                if pool.op(stage) == "STAGE":
                    found.setdefault(stage, set()).add(tuple(self._plain(place) for place in places))
        return found

    def _indexings(self, stage: int) -> set[tuple[int, ...]]:
        return self._indexed.get(stage, set())

    def _plain(self, index: int) -> int:
        return self._pool.src[index][1] if self._pool.op(index) == "WHERE" else index

    def _below(self, node: int, op: str) -> list[int]:
        """Nodes of that op in the first few levels of a replacement."""
        pool = self._pool
        found: list[int] = []
        layer = [node]
        for _ in range(DEEP):
            found.extend(n for n in layer if pool.op(n) == op)
            layer = [s for n in layer if pool.op(n) != "STAGE" for s in pool.src[n]][:256]
        return list(dict.fromkeys(found))

    @cached_property
    def _readers(self) -> dict[int, list[int]]:
        """Who reads each node of the graph before ranges are put in."""
        pool = self._pool
        root = self._lineage.root(passes.RANGEIFY)
        found: dict[int, list[int]] = {}
        for node in pool.walk(root) if root is not None else ():
            op = pool.op(node)
            src = pool.src[node]
            if op in MOVEMENT or op in ("REDUCE", "AFTER", "END", "INDEX", "STAGE"):
                src = src[:1]
            for s in dict.fromkeys(src):
                found.setdefault(s, []).append(node)
        return found

    @cached_property
    def _inserted(self) -> dict[int, tuple[str, str, Stage, int]]:
        """CONTIGUOUS that tinygrad put in itself, as it stands before ranges are put in."""
        pool, lineage = self._pool, self._lineage
        whys = {
            "REDUCE": ("split reduction", "a long reduction is done in two stages, to run in parallel"),
            "STORE": ("assign hazard", "the assignment reads what it overwrites"),
            "COPY": ("device copy", "a copy moves a whole contiguous buffer"),
            "ALLREDUCE": ("several devices", ALLREDUCE),
        }
        found: dict[int, tuple[str, str, Stage, int]] = {}
        for name in (passes.EARLIEST, passes.COPY):
            stage = lineage.stage(name)
            if stage is None:
                continue
            for number, (before, after) in enumerate(zip(stage.before, stage.after, strict=True), 1):
                why = whys.get("COPY" if name == passes.COPY else pool.op(before))
                known = set(pool.src[before])
                for node in self._below(after, "CONTIGUOUS") if why else ():
                    if node not in known and why:
                        rest = (passes.EARLIEST, passes.COPY) if name == passes.EARLIEST else (passes.COPY,)
                        for made in lineage.images(node, rest):
                            found.setdefault(made, (*why, stage, number))
        return found

    def _reduces(self, node: int) -> bool:
        """Whether the value is the end of a reduction that nothing else stores."""
        pool = self._pool
        stored = {staged.value for staged in self._staged.values()} - {node}
        stack, done = [node], set()
        while stack:
            one = stack.pop()
            if one in done or one in stored:
                continue
            done.add(one)
            if pool.op(one) == "REDUCE":
                return True
            if pool.op(one) not in ("PARAM", "BUFFER", "AFTER", "CONST", "CALL"):
                stack.extend(pool.src[one])
        return False

    def _hazard(self, node: int) -> bool:
        """Whether a STORE of this value overwrites something that the value reads."""
        pool = self._pool
        below = set(pool.walk(node))
        return any(
            pool.op(reader) == "STORE" and base(pool, pool.src[reader][0]) in below for reader in self._readers[node]
        )

    def _kept(self, stage: int) -> str | None:
        """Why the STAGE was not taken out again by `symbolic+reduce_collapse+debuf`."""
        pool = self._pool
        value = pool.src[stage][0]
        if pool.op(value) in ("CONTIGUOUS", "NOOP") or "removable=False" in (pool.texts(stage)[2] or ""):
            return "it must be stored"
        read: dict[int, None] = {}
        reduces: list[int] = []
        stack, done = [value], {value}
        while stack:
            node = stack.pop()
            op = pool.op(node)
            if op == "AFTER":
                read[base(pool, node)] = None
            elif op == "MSTACK" or (op == "STAGE" and "LOCAL" not in (pool.texts(node)[2] or "")):
                read[node] = None
            elif op != "STORE":
                if op == "PARAM":
                    read[node] = None
                elif op == "REDUCE":
                    reduces.append(pool.src[node][0])
                fresh = [s for s in pool.src[node] if s not in done]
                done.update(fresh)
                stack.extend(fresh)
        if len(read) > 3:
            return f"it reads {self._counted(read)}, and more than 3 are not read again"
        for node in pool.walk(pool.add("?", "", tuple(reduces))) if reduces else ():
            if pool.op(node) in ("PARAM", "STAGE", "AFTER"):
                return "it reduces a buffer, which is not done again"
        return None

    def _counted(self, read: Iterable[int]) -> str:
        """`3 buffers and 1 variable`: tinygrad counts a variable like a buffer."""
        nodes = list(read)
        variables = sum("AddrSpace.ALU" in (self._pool.texts(node)[2] or "") for node in nodes)
        buffers = len(nodes) - variables
        parts = [f"{count} {word}{'s' * (count != 1)}" for count, word in ((buffers, "buffer"), (variables, "variable"))
                 if count]  # fmt: skip
        return " and ".join(parts)

    def _buffer_of(self, param: int, replace: Stage | None) -> int | None:
        pool = self._pool
        slot = _SLOT.search(pool.texts(param)[2] or "")
        for before, after in zip(replace.before, replace.after, strict=True) if replace is not None else ():
            if pool.op(after) == "PARAM":
                other = _SLOT.search(pool.texts(after)[2] or "")
                if slot and other and other[1] == slot[1]:
                    return base(pool, before)
        return None
