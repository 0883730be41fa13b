"""One import: the printed states as steps of the operations that they are of."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from peephole.errors import CaptureError
from peephole.model.collector import no_collecting
from peephole.model.sink import Sink
from peephole.model.tables import NONE
from peephole.sources.base import Progress
from peephole.sources.context_rows import Rows, content_of
from peephole.sources.mlir import TREE_FILE
from peephole.sources.mlir.blocks import Block, log_blocks, pass_of, tree_order
from peephole.sources.mlir.graphs import StateGraphs
from peephole.sources.mlir.naming import ValueNumbers
from peephole.sources.mlir.parser import Operation, Parser
from peephole.sources.node_rows import NodeRows

COMPILER: Final = "mlir"
STATE: Final = "state"
"""The name of a step without a pass."""


@dataclass(slots=True)
class _Printed:
    """One operation and its states so far."""

    name: str
    kind: str
    graphs: StateGraphs
    text: str = ""
    root: int = NONE
    symbols: frozenset[str] = frozenset()
    steps: list[tuple[str, int, int]] = field(default_factory=list)
    """Pass, graph before, graph after."""
    waiting: str = ""
    """The pass whose state before it was printed, and whose state after it is not known yet."""


def read(paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
    """Reads logs, states and trees; CaptureError when no state can be read."""
    rows, nodes = Rows(sink, COMPILER), NodeRows(sink)

    def fresh() -> States:
        return States(rows, nodes, lambda reason, example: sink.problem(reason, 1, example))

    states = fresh()
    runs = [("", states)]
    tree = [path for path in paths if TREE_FILE.fullmatch(path.name)]
    logs = [path for path in paths if path not in set(tree)]
    total = sum(path.stat().st_size for path in paths)
    done = 0
    with no_collecting():
        for path in [*logs, *tree_order(tree)]:
            try:
                text = content_of(path).decode("utf-8", "replace")
            except OSError as error:
                sink.problem("files that cannot be read", 1, f"{path.name}: {error.strerror or error}")
                continue
            named = TREE_FILE.fullmatch(path.name)
            if named and "// -----// IR Dump" not in text:
                states.add([Block(pass_of(named[2])[0], True, False, text, str(path.parent), True)])
            elif len(logs) > 1 and "// -----// IR Dump" in text:
                # a log is a run of its own, whatever operations it shares with others
                runs.append((path.name, fresh()))
                runs[-1][1].add(log_blocks(text, path.name))
            else:
                states.add(log_blocks(text, path.name))
            done += path.stat().st_size
            progress(done, total)
    counts = Counter(name for _, one in runs for name in one.names())
    shared = {name for name, count in counts.items() if count > 1}
    if not sum(one.write(NONE, shared, log) for log, one in runs):
        raise CaptureError(
            f"{paths[0]} has no state of MLIR that can be read; print some with --mlir-print-ir-after-all "
            "--mlir-disable-threading."
        )
    nodes.flush()
    rows.finish()
    sink.describe(frameworks={COMPILER: ""})


class States:
    """Takes blocks in order, and gives steps."""

    def __init__(self, rows: Rows, nodes: NodeRows, problem: Callable[[str, str], None]) -> None:
        self._rows, self._nodes, self._problem = rows, nodes, problem
        self._parser, self._numbers = Parser(), ValueNumbers()
        self._printed: dict[tuple[str, str], _Printed] = {}
        self._numbering = itertools.count(2)

    def add(self, blocks: Iterable[Block]) -> None:
        """Reads states."""
        for block in blocks:
            self._state(block)

    def names(self) -> set[str]:
        """What the operations are called."""
        return {one.name for one in self._printed.values()}

    def write(self, parent: int, shared: Collection[str] = (), log: str = "") -> int:
        """Hands over what was read as contexts, those with names that other logs have too under the name of this one;
        how many there are."""
        found = sorted(self._printed.values(), key=lambda one: one.kind != "module")
        outer = parent
        for one in found:
            name = f"{one.name} in {log}" if log and one.name in shared else one.name
            context = self._rows.context(name, one.kind, outer, keys=json.dumps([name]), compiler=COMPILER)
            if outer == parent and one.kind == "module" and len(found) > 1:
                outer = context
            if one.waiting:
                one.steps.append((one.waiting, one.root, NONE))
            for name, root, after in one.steps:
                self._rows.step(context, name, 0, root, after)
            self._rows.artifact(context, "source", "mlir", "MLIR, last state", one.text.strip().encode())
        return len(found)

    def _state(self, block: Block) -> None:
        if not block.text.strip():
            self._problem("states that are empty, left out", f"{block.pass_name or STATE} in {block.where}")
            return
        known = self._by_text(block)
        if known is None:
            operations = self._parser.parse(block.text)
            if not operations or self._parser.cut:
                reason = "states that were cut off, left out" if operations else "states without an operation, left out"
                self._problem(reason, f"{block.pass_name or STATE} in {block.where}")
                return
            known = self._find(block, operations)
            before = known.root
            known.root = known.graphs.root(operations, self._parser.locations)
            known.text, known.symbols = block.text, _symbols(operations)
        else:
            before = known.root
        self._step(known, block, before)

    def _by_text(self, block: Block) -> _Printed | None:
        """The operation whose last state this is, unchanged."""
        return next((one for one in self._printed.values() if one.text == block.text), None)

    def _step(self, known: _Printed, block: Block, before: int) -> None:
        name = f"{block.pass_name or STATE}{' (failed)' if block.failed else ''}"
        if known.waiting and not (block.after and known.waiting == name):
            # only states before passes are printed: this one is also that after the last
            known.steps.append((known.waiting, before, known.root))
            before = known.root
        known.waiting = ""
        if block.after:
            known.steps.append((name, before if before >= 0 else known.root, known.root))
        else:
            if before >= 0 and before != known.root:
                known.steps.append((f"before {name}", before, known.root))
            known.waiting = name

    def _find(self, block: Block, operations: list[Operation]) -> _Printed:
        top = operations[0].text
        op = "builtin.module" if top.name == "module" else top.name
        symbols = _symbols(operations)
        key = (block.where, "") if block.in_tree else self._key(op, top.symbol, symbols)
        known = self._printed.get(key)
        if known is None:
            name = f"{op} @{top.symbol}" if top.symbol else op
            if symbols and (not top.symbol or any(one.name == name for one in self._printed.values())):
                name += f" of @{min(symbols)}"
            kind = "module" if op.endswith("module") else "function"
            known = self._printed[key] = _Printed(name, kind, StateGraphs(self._nodes, self._numbers, self._problem))
        return known

    def _key(self, op: str, symbol: str, symbols: frozenset[str]) -> tuple[str, str]:
        """What an operation is known by: its name, and where several have one or none, the symbols in it."""
        alike = [(len(symbols & one.symbols), key) for key, one in self._printed.items()
                 if key[0] == op and key[1].partition(" ")[0] == symbol]  # fmt: skip
        if not alike:
            return op, symbol
        shared, key = max(alike)
        if shared or not symbols:
            return key
        empty = next((key for _, key in alike if not self._printed[key].symbols), None)
        return empty or (op, f"{symbol} {next(self._numbering)}")


def _symbols(operations: list[Operation]) -> frozenset[str]:
    """The symbols right inside the first operation."""
    inner = [one for region in operations[0].regions for one in region.operations]
    return frozenset(one.text.symbol for one in inner if one.text.symbol)
