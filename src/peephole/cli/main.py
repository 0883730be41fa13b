"""The command line: finds the command, loads its one file, and is the one place that catches errors."""

from __future__ import annotations

import argparse
import gc
import importlib
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Sequence
from keyword import iskeyword
from types import FrameType, ModuleType
from typing import Final, NamedTuple

from peephole import __version__
from peephole.cli.format import escape
from peephole.errors import PeepholeError


class Command(NamedTuple):
    """One command: its file in this package is named after it and loaded only when it is called."""

    name: str
    summary: str

    @property
    def module(self) -> str:
        """The module that has `HELP`, `configure(parser)` and `run(args)`."""
        return f"peephole.cli.{self.name}_" if iskeyword(self.name) else f"peephole.cli.{self.name}"


class _NotNeeded:
    """Hides what no command needs and others load when it is installed, tenths of a second for nothing.

    pyarrow loads pandas with its first array, numba coverage and yaml with itself, scipy and cffi with its first loop.
    Programs that are recorded run in processes of their own.
    """

    NAMES: Final = frozenset(("pandas", "scipy", "cffi", "coverage"))
    DASK: Final = frozenset(("yaml",))
    """What Dask needs, and so the commands that ask a cluster."""
    hidden = NAMES

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> None:
        """Says that these are not there, and nothing of other modules."""
        if name in cls.hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


COMMANDS: Final = (
    Command("run", "record a Python program"),
    Command("serve", "open a capture in the browser"),
    Command("show", "look at a capture in the terminal"),
    Command("top", "the workers of a tape or a live cluster, refreshed"),
    Command("search", "find kernels, passes, rules, ops and slices by name"),
    Command("idle", "the longest gaps of each device, with what ran before and after"),
    Command("ranks", "who made everybody wait, in a run of many ranks"),
    Command("fleet", "what became of each file of a run of many ranks; sum them up again"),
    Command("rules", "which rewrite rules fired, how often and for how long"),
    Command("problems", "graph breaks, recompilations and slow phases of compiling"),
    Command("diff", "what a change altered: two captures compared"),
    Command("why", "why two kernels did not become one"),
    Command("origin", "from a kernel to the program's lines that it came from, and back"),
    Command("visualize", "draw a distributed program's tape as a picture"),
    Command("notes", "what readers have pinned to slices, ranges, nodes and matches"),
    Command("query", "SQL over the tables of a capture"),
    Command("import", "make a capture of tinygrad pickles, torch logs, Chrome traces, …"),
    Command("export", "write a capture as another tool's file"),
    Command("ls", "list the captures"),
    Command("info", "what a capture holds and whether anything was lost"),
    Command("pack", "one file out of a capture, to send around"),
    Command("share", "one HTML file out of a capture, for whoever has a browser"),
    Command("demo", "record a small real program and show it"),
    Command("mcp", "let a coding agent ask about captures"),
    Command("doctor", "what this machine can record and show, and what to install"),
    Command("completion", "a script that completes commands and options in your shell"),
)

START_PROGRAMS: Final = ("run", "demo")
WITHOUT_DASK: Final = ("serve", "show", "diff", "search", "rules", "idle")
"""Commands over large captures that never ask a Dask cluster."""

EPILOG: Final = """\
Wherever a capture is expected the default is the newest one, and a file of any
known source may be given instead.

  peephole run train.py          record a program
  PEEPHOLE=1 pytest tests        the same, for whatever starts Python
  peephole show -t               where the time went
  peephole serve                 everything, in the browser

`peephole COMMAND --help` explains a command."""


COLLECT_AFTER: Final = 50_000
"""New objects after which Python looks for circles: it would look dozens of times at what imports leave for good."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and gives its exit code: 2 with one sentence for what the user can mend, 130 for Ctrl-C."""
    gc.set_threshold(max(gc.get_threshold()[0], COLLECT_AFTER))
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # a name may hold what the terminal's encoding lacks; it is shown escaped then
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except PeepholeError as error:
        print(f"peephole: {escape(str(error))}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # whoever read our output has seen enough; nothing may be written at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OSError as error:
        # whatever the file system refuses that no command foresaw: a name too long, a folder that may not be read
        name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes, os.PathLike)) else ""
        short = name if len(name) <= 200 else name[:199] + "…"
        print(f"peephole: {escape(short)}{': ' if short else ''}{error.strerror or error}.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    if arguments[0] in ("-V", "--version"):
        print(version())
        return 0
    command = find(arguments[0])
    _NotNeeded.hidden = _NotNeeded.NAMES | (_NotNeeded.DASK if command.name in WITHOUT_DASK else frozenset())
    if _NotNeeded not in sys.meta_path:
        sys.meta_path.insert(0, _NotNeeded)
    if command.name not in START_PROGRAMS:
        # numpy starts a thread per core for matrix products, which no command computes: a tenth of a second for nothing
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    module = load(command)
    if command.name not in (*START_PROGRAMS, "serve") and threading.current_thread() is threading.main_thread():
        # as Ctrl-C: what is half written goes, where the system would end us without a chance to
        signal.signal(signal.SIGTERM, _ended)
    parser = parser_of(command, module)
    # a command with words of its own before the capture's name: options may stand between the two
    parse = parser.parse_intermixed_args if getattr(module, "INTERMIXED", False) else parser.parse_args
    prepare = getattr(module, "prepare", list)
    args = parse(prepare(arguments[1:]))
    code: int = module.run(args)
    return code


def version() -> str:
    """Which Peephole this is and of which commit, which captures it writes, and on what it runs."""
    import platform

    from peephole.model.checkout import built_from
    from peephole.model.tables import FORMAT_VERSION

    build = f"build {built_from() or 'unknown'}"
    python = f"{platform.python_implementation()} {platform.python_version()}, {sys.platform}"
    return f"peephole {__version__} (format {FORMAT_VERSION}, {build}, {python})"


def _ended(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def find(name: str) -> Command:
    """The command of that name; PeepholeError with the nearest one when there is none."""
    commands = {command.name: command for command in COMMANDS}
    if name in commands:
        return commands[name]
    import difflib

    near = difflib.get_close_matches(name, commands, n=1)
    hint = f"did you mean `{near[0]}`?" if near else "`peephole --help` lists them."
    raise PeepholeError(f"There is no command {name!r}; {hint}")


def load(command: Command) -> ModuleType:
    """The module of a command."""
    return importlib.import_module(command.module)


class _Help(argparse.HelpFormatter):
    """Fits a command's text into the terminal: paragraphs are filled, lines of examples stay lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        import textwrap

        paragraphs = text.strip().split("\n\n")
        return "\n\n".join(
            "\n".join(_example(line, width) for line in paragraph.splitlines())
            if paragraph.startswith(" ")
            else textwrap.fill(" ".join(paragraph.split()), width)
            for paragraph in paragraphs
        )


def _example(line: str, width: int) -> str:
    """A line `  command   what it does`; the latter goes on below itself."""
    import textwrap

    parts = re.fullmatch(r"(  \S.*?\s{2,})(\S.*)", line)
    if parts is None or len(parts[1]) > 2 * width // 3:
        return line
    return textwrap.fill(parts[2], width, initial_indent=parts[1], subsequent_indent=" " * len(parts[1]))


def parser_of(command: Command, module: ModuleType) -> argparse.ArgumentParser:
    """The parser of one command, its options declared by its module."""
    parser = argparse.ArgumentParser(
        prog=f"peephole {command.name}",
        description=module.HELP,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    module.configure(parser)
    return parser


def overview() -> str:
    """The page that `peephole` alone prints."""
    lines = ["Peephole shows what a tensor program became and what it did.", "", "usage: peephole COMMAND …", ""]
    lines += [f"  {command.name:<10} {command.summary}" for command in COMMANDS]
    return "\n".join([*lines, "", EPILOG])


if __name__ == "__main__":
    sys.exit(main())
