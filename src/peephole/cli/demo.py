"""`peephole demo`: records a small real program and shows what is in it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from peephole import demo
from peephole.errors import PeepholeError
from peephole.model.folder import SUFFIX, captures_folder, free_name

HELP = """Records a small training program (tinygrad, on the CPU with clang, else on its PYTHON device; torch.compile
where there is torch and no tinygrad) and shows where its time went. What it leaves is a capture like any other:
`peephole show`, `peephole serve`."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("-o", "--output", metavar="NAME.peep", help="where it goes (default: the user's folder)")
    parser.add_argument("--serve", action="store_true", help="serve the page afterwards, until Ctrl-C")
    parser.add_argument("--port", type=int, help="with --serve: the port (default: that of `peephole serve`)")


def run(args: argparse.Namespace) -> int:
    """Records the program as `peephole run` does and prints the summary."""
    from peephole.cli import info, show
    from peephole.query.capture.names import tracks
    from peephole.store.capture import open_capture

    if not demo.framework():
        name = demo.FRAMEWORK
        raise PeepholeError(f"The demo trains a model with {name}, which is not installed: pip install {name}")
    out = Path(args.output) if args.output else free_name(captures_folder() / f"demo{SUFFIX}")
    if out.exists():
        raise PeepholeError(f"{out} exists already; remove it or choose another name with -o.")
    program, device = demo.program(), demo.device()
    print(f"recording {program.name} on {device}", flush=True)
    code = subprocess.run(
        [sys.executable, "-m", "peephole", "run", "--no-view", "-o", str(out), str(program)],
        env={**os.environ, "DEV": device},
        check=False,
    ).returncode
    if code:
        raise PeepholeError(f"The demo program ended with exit code {code}; what it did is in {out}.")
    print()
    info.run(_parsed(info, [str(out)]))
    print()
    show.run(_parsed(show, [str(out), "-t", "5"]))
    devices = [track for track in tracks(open_capture(out)) if track.kind == "device" and track.slices]
    for track in sorted(devices, key=lambda track: -track.slices)[:1]:
        print(f"\nThe kernels that ran on {track.name}:")
        show.run(_parsed(show, [str(out), "-s", track.name, "-t", "10"]))
    print(f"\npeephole show {out}     every event\npeephole serve {out}    the same in the browser", flush=True)
    if not args.serve:
        return 0
    from peephole.cli import serve

    return serve.run(_parsed(serve, [str(out), *(["--port", str(args.port)] if args.port else [])]))


def _parsed(module: object, arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    module.configure(parser)  # type: ignore[attr-defined]
    return parser.parse_args(arguments)
