"""`peephole demo`: records a small real program twice, sums it up and shows it."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

from peephole import demo
from peephole.cli.called import called
from peephole.cli.format import Printer, count, duration
from peephole.errors import PeepholeError
from peephole.model.folder import SUFFIX, captures_folder, free_name
from peephole.record.place import check_system

HELP = """Records a small training program (tinygrad, on the CPU with clang, else on its PYTHON device; torch.compile
where there is torch and no tinygrad), and once more with another activation to have something to compare with; says
where the time went and what to look at first. What it leaves are captures like any other: `peephole show`,
`peephole serve`, `peephole diff`."""

FIRST: Final = (
    ("Rewrites", "choose a kernel, then → and ←: its graph after every rewrite, with the rule that fired"),
    ("Timeline", "drag and wheel; click a kernel, C for its code, line by line with where each line comes from"),
    ("Memory", "click the peak: what was alive, who made it and who read it last"),
    ("Compare", "which kernels the other activation changed, and the pass and match at which the two part"),
)
"""The tabs to click first, and what is to be seen there."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "-o", "--output", metavar="NAME.peep", help="where it goes (default: the user's folder); the second beside it"
    )
    parser.add_argument("--serve", action="store_true", help="serve the page afterwards, until Ctrl-C")
    parser.add_argument("--port", type=int, help="with --serve: the port (default: that of `peephole serve`)")


def run(args: argparse.Namespace) -> int:
    """Records the program as `peephole run` does and prints the summary."""
    check_system()
    if not demo.framework():
        name = demo.FRAMEWORK
        raise PeepholeError(f"The demo trains a model with {name}, which is not installed: pip install {name}")
    out = Path(args.output) if args.output else free_name(captures_folder() / f"demo{SUFFIX}")
    other = out.with_name(f"{out.name.removesuffix(SUFFIX)}-{demo.CHANGE}{SUFFIX}")
    for path in (out, other):
        if path.exists():
            raise PeepholeError(f"{path} exists already; remove it or choose another name with -o.")
    device = demo.device()
    print(f"recording {demo.program().name} on {device}", flush=True)
    _record(out, device, {})
    print(f"and once more, with ACTIVATION={demo.CHANGE}", flush=True)
    _record(other, device, {"ACTIVATION": demo.CHANGE})
    _sum_up(out, other, device)
    if not args.serve:
        return 0
    from peephole.cli import serve

    return serve.run(_parsed(serve, [str(out), str(other), *(["--port", str(args.port)] if args.port else [])]))


def _record(out: Path, device: str, changed: dict[str, str]) -> None:
    code = subprocess.run(
        [sys.executable, "-m", "peephole", "run", "--no-view", "-o", str(out), str(demo.program())],
        env={**os.environ, "DEV": device, **changed},
        check=False,
    ).returncode
    if code:
        raise PeepholeError(f"The demo program ended with exit code {code}; what it did is in {out}.")


def _sum_up(out: Path, other: Path, device: str) -> None:
    """Prints what was recorded, where the time went, and what to look at first."""
    from peephole.cli import rules, show
    from peephole.query.capture.info import info
    from peephole.store.capture import open_capture

    facts = info(open_capture(out))
    rows, printer = facts.tables, Printer(False)
    took = duration(facts.span_ns[1] - facts.span_ns[0]) if facts.span_ns else "no time"
    with_what = ", ".join(f"{name} {version}" for name, version in facts.frameworks.items())
    printer.line()
    printer.line((facts.name, "bold"), f"  {with_what}, {took}")
    printer.line(
        f"  {count(rows['contexts'])} compilations, {count(rows['steps'])} passes, {count(rows['matches'])} rewrites;"
        f" {count(rows['slices'])} slices, {count(rows['buffers'])} buffers"
    )
    printer.line()
    if demo.interpreted(device):
        printer.line("Without clang the kernels ran in tinygrad's Python interpreter, so their times mean little")
        printer.line("(apt-get install clang, or say DEV=…). The rules that cost most while compiling:")
        rules.run(_parsed(rules, [str(out), "-n", "5"]))
    else:
        printer.line("Where the time went, and the kernels that cost most:")
        show.run(_parsed(show, [str(out), "-t", "8"]))
    printer.line()
    printer.line(("What to click first in the page", "bold"))
    for tab, what in FIRST:
        if tab == "Memory" and not rows["buffers"]:
            continue  # a tab without data is not shown
        printer.line((f"  {tab:<9} ", "bold"), what)
    printer.line()
    first, second = (shlex.quote(str(path)) for path in (out, other))
    for line in (f"serve {first} {second}", f"diff {first} {second}", f"show {first}"):
        printer.line(f"{called()} {line}")


def _parsed(module: object, arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    module.configure(parser)  # type: ignore[attr-defined]
    return parser.parse_args(arguments)
