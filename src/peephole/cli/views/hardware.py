"""Hardware traces in the terminal: `gemm SQTT SE:0 PKTS`, `gemm PMC`, `PMA gemm`, `All Counters`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from peephole.cli.format import Column, Printer, count
from peephole.cli.views import Request
from peephole.query.capture.info import holds

if TYPE_CHECKING:
    from peephole.query.hardware.counters import Counter
    from peephole.query.hardware.traces import Entry, HardwareTrace
    from peephole.store.capture import Capture

ALL_COUNTERS = "All Counters"


def sources(capture: Capture) -> list[str]:
    """The traces and counters of the capture."""
    if not holds(capture, "hardware"):
        return []
    from peephole.query.hardware.traces import entries

    found = entries(capture)
    counters = [ALL_COUNTERS] if any(entry.counted for entry in found) else []
    return [*counters, *(entry.source for entry in found)]


def claims(capture: Capture, request: Request) -> bool:
    """A source of that name."""
    return request.source is not None and request.source in sources(capture)


def show(capture: Capture, request: Request, printer: Printer) -> int:
    """Prints a trace, a set of counters, or all counters."""
    from peephole.query.hardware.traces import HardwareTrace, entries, find_entry

    assert request.source is not None
    if request.source == ALL_COUNTERS:
        _all_counters(capture, [entry for entry in entries(capture) if entry.counted], printer)
        return 0
    entry = find_entry(capture, request.source)
    assert entry is not None
    if entry.counted:
        _counters(capture, entry, printer)
        if entry.kind == "pma":
            _sampled(capture, entry, request.top or 20, printer)
    elif request.top is not None:
        _hotspots(HardwareTrace(capture, entry), request.top, printer)
    else:
        _trace(HardwareTrace(capture, entry), printer)
    return 0


def _trace(trace: HardwareTrace, printer: Printer) -> None:
    from peephole.query.hardware.events import events

    if not printer.json:
        waves, packets = len(trace.waves), sum(trace.counts.values())
        printer.line((trace.entry.source, "bold"), (f"  {trace.entry.arch}", "dim"))
        printer.line((f"{count(packets)} packets, {count(waves)} waves on all units", "dim"))
        printer.line((f"{'clock':>10}  {'unit':<20}  {'op':<16}  {'dur':>4}  {'delay':>5}  instruction", "dim"))
    for event in events(trace):
        if printer.json:
            printer.record(
                {
                    "clock": event.clock, "unit": event.unit, "op": event.op, "duration": event.duration,
                    "delay": event.delay, "pc": event.pc, "instruction": event.instruction,
                }
            )  # fmt: skip
            continue
        delay = "" if event.delay is None else str(event.delay)
        printer.line(
            f"{event.clock:>10}  ", (f"{event.unit:<20}", "cyan"),
            f"  {event.op:<16}  {event.duration:>4}  {delay:>5}  ", (event.instruction, "dim"),
        )  # fmt: skip
    _notes(trace, printer)


def _notes(trace: HardwareTrace, printer: Printer) -> None:
    for note in trace.words():
        if printer.csv:  # a sentence is no row of the table
            print(note, file=sys.stderr)
        elif printer.json:
            printer.record({"note": note})
        else:
            printer.line((note, "yellow"))


def _hotspots(trace: HardwareTrace, top: int, printer: Printer) -> None:
    from peephole.query.hardware.instruction_facts import by_stall

    found, program = trace.hotspots, trace.program
    if found is None or program is None:
        _notes(trace, printer)
        return
    rows = by_stall(found)
    facts = trace.facts
    rows = rows[:top] if top >= 0 else rows
    means = {name: getattr(found, name).mean() for name in ("latency", "stall", "idle")}
    if printer.json:
        for i in rows:
            figures = {
                name: {
                    "mean": round(float(means[name][i]), 3), "sum": int(getattr(found, name).total[i]),
                    "worst": int(getattr(found, name).worst[i]),
                }
                for name in means
            }  # fmt: skip
            flat = {f"{name}_{part}": value for name, figure in figures.items() for part, value in figure.items()}
            printer.record(
                {
                    "pc": int(program.pc[i]), "instruction": program.text[i], "hits": int(found.hits[i]),
**(flat if printer.csv else figures),
                    "wait": facts[i].wait,
                    "awaits": int(program.pc[facts[i].awaits]) if facts[i].awaits >= 0 else None,
                    "line": facts[i].line or None, "source": facts[i].source,
                }
            )  # fmt: skip
        _notes(trace, printer)
        return
    columns = [Column("pc", True), Column("hits", True), *(
        Column(f"{name} {part}", True) for name in means for part in ("mean", "sum", "worst")
    ), Column("instruction", flexible=True),
        *([Column("line", True), Column("source", flexible=True)] if any(one.line for one in facts) else []),
    ]  # fmt: skip
    printer.table(
        columns,
        [
            [
                f"{int(program.pc[i]):#x}", count(int(found.hits[i])),
                *(
                    text
                    for name in means
                    for text in (
                        f"{float(means[name][i]):.1f}", count(int(getattr(found, name).total[i])),
                        count(int(getattr(found, name).worst[i])),
                    )
                ),
                _instruction(trace, i),
                *([str(facts[i].line or ""), facts[i].source] if any(one.line for one in facts) else []),
            ]
            for i in rows
        ],
    )  # fmt: skip
    _notes(trace, printer)


def _instruction(trace: HardwareTrace, at: int) -> str:
    """The instruction; of a wait its counters by name, and where what it waits for is."""
    program, fact = trace.program, trace.facts[at]
    assert program is not None
    if not fact.wait:
        return program.text[at]
    before = f" for {program.op[fact.awaits].lower()} at {int(program.pc[fact.awaits]):#x}" if fact.awaits >= 0 else ""
    return f"{program.op[at].lower()} {fact.wait}{before}"


def _sampled(capture: Capture, entry: Entry, most: int, printer: Printer) -> None:
    """Where the warps were met most often."""
    from peephole.query.hardware.stalls import REASONS, hottest, samples
    from peephole.query.hardware.traces import content

    for pc, number, reasons in hottest(samples(content(capture, entry), entry.props), most):
        if printer.json:
            printer.record({"pc": pc, "samples": number, "reasons": {REASONS[at]: times for at, times in reasons}})
        else:
            words = "  ".join(f"{REASONS[at]} {count(times)}" for at, times in reasons[:4])
            printer.line(f"0x{pc:06x}  ", (f"{count(number):>8} samples", "bold"), (f"  {words}", "dim"))


def _counters(capture: Capture, entry: Entry, printer: Printer) -> None:
    from peephole.query.hardware.counters import metrics
    from peephole.query.hardware.traces import counters

    found = counters(capture, entry)
    if printer.csv:
        for counter in found:
            for row in _flat(counter):
                printer.record(row)
        for metric in metrics(found):
            printer.record({"counter": metric.name, "block": "derived", "value": round(metric.value, 4)})
        return
    if printer.json:
        for counter in found:
            printer.record(_record(counter))
        for metric in metrics(found):
            printer.record({"metric": metric.name, "value": round(metric.value, 4), "unit": metric.unit})
        return
    printer.line((entry.source, "bold"), (f"  {entry.arch}", "dim"))
    for metric in metrics(found):
        printer.line(
            f"{metric.name:<28}", (f"{metric.value:>18,.1f} {metric.unit}", "bold"), (f"  {metric.doc}", "dim")
        )
    for counter in found:
        printer.line(f"{counter.name:<28}", (f"{counter.total:>18,}", "bold"), (f"  {counter.block}", "dim"))
        _units(counter, printer)


def _units(counter: Counter, printer: Printer) -> None:
    if counter.count <= 1:
        return
    width = max(len(unit.values) for unit in counter.units)
    columns = [Column(name, True) for name in ("  XCC", "INST", "SE", "SA", *(f"WGP:{i}" for i in range(width)))]
    printer.table(
        columns,
        [
            [
                str(unit.xcc),
                str(unit.instance),
                str(unit.engine),
                str(unit.array),
                *(count(value) for value in unit.values),
            ]
            for unit in counter.units
        ],
    )


def _record(counter: Counter) -> dict[str, object]:
    units = [
        {"xcc": u.xcc, "inst": u.instance, "se": u.engine, "sa": u.array, "wgp": list(u.values)} for u in counter.units
    ]
    return {
        "counter": counter.name,
        "block": counter.block,
        "sum": counter.total,
        "max": counter.largest,
        "units": units,
    }


def _flat(counter: Counter) -> Iterator[dict[str, object]]:
    """A row for each value of each unit."""
    for unit in counter.units:
        place = {"xcc": unit.xcc, "inst": unit.instance, "se": unit.engine, "sa": unit.array}
        for wgp, value in enumerate(unit.values):
            yield {"counter": counter.name, "block": counter.block, **place, "wgp": wgp, "value": value}


def _all_counters(capture: Capture, found: list[Entry], printer: Printer) -> None:
    from peephole.query.hardware.traces import counters

    table = {entry.kernel_run: {c.name: c.total for c in counters(capture, entry)} for entry in found}
    names = list(dict.fromkeys(name for values in table.values() for name in values))
    if printer.json:
        for kernel, values in table.items():
            flat = {name: values.get(name) for name in names}
            printer.record({"kernel": kernel, **(flat if printer.csv else {"counters": values})})
        return
    columns = [Column("kernel", flexible=True), *(Column(name, True) for name in names)]
    printer.table(
        columns,
        [
            [kernel, *(count(values[name]) if name in values else "" for name in names)]
            for kernel, values in table.items()
        ],
    )
