"""`peephole diff`: what a change altered, between two captures or two sets of them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from peephole.cli.format import Printer
from peephole.errors import CaptureError, PeepholeError

if TYPE_CHECKING:
    from peephole.query.compare.gate import Gate, Term
    from peephole.query.compare.recorded import Recorded
    from peephole.query.compare.results import Comparison
    from peephole.store.capture import Capture

PARTS = ("kernels", "code", "time", "memory", "rules", "compile")

HELP = """\
Says what differs between two captures: kernels and their code, times, memory, rules, and the pass and match at which
their compilations part. Kernels are matched by content, never by name alone; times are claimed to differ only with six
runs or more and a test.

  peephole diff old.peep new.peep             what the change altered
  peephole diff old1 old2 old3 -- new1 new2   several captures a side: their medians are compared
  peephole diff old new --kernel r_64_16      one kernel in depth: code, passes, the match where they part
  peephole diff old new --fail-on code,memory>1%,time>5%      for CI
  peephole diff --baseline DIR new.peep       against the baseline of that program, which the first time is made

It ends with 0 when they are the same, 1 when they differ by the rules of --fail-on (without it: in anything but times),
2 when they cannot be compared."""


def prepare(arguments: list[str]) -> list[str]:
    """The arguments with `--` between two sides as the option that it is short for."""
    return ["--against" if word == "--" else word for word in arguments]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "capture", nargs="*", metavar="CAPTURE", help="two captures, their names, or files of a known source"
    )
    parser.add_argument(
        "--against", nargs="*", metavar="CAPTURE", help="the captures of the other side; `--` is short for it"
    )
    parser.add_argument("--kernel", metavar="NAME", help="one kernel in depth, by its name on either side")
    parser.add_argument("--only", metavar="PARTS", help=f"some parts only, of {','.join(PARTS)}")
    parser.add_argument(
        "--fail-on",
        metavar="RULES",
        help="end with 1 only for these: kernels,code,rules,memory>1%%,time>5%%,compile>20%%",
    )
    parser.add_argument(
        "--baseline", metavar="DIR", type=Path, help="a folder of baselines: their names are captures too"
    )
    parser.add_argument("--save", metavar="NAME", help="keep the last capture in --baseline under this name")
    parser.add_argument(
        "--baseline-noise", metavar="CAPTURE", action="append", default=[],
        help="another recording of A's program: times that differ no more than it does are not claimed",
    )  # fmt: skip
    parser.add_argument(
        "--pair", metavar="A=B", action="append", default=[], help="pair these two kernels, whatever their content says"
    )
    parser.add_argument("--markdown", action="store_true", help="print a table for a pull request")
    parser.add_argument("--json", action="store_true", help="print one JSON object, times in ns")


def run(args: argparse.Namespace) -> int:
    """Prints the comparison and gives the gate's exit code."""
    only = _only(args.only)
    from peephole.query.compare.gate import DEFAULT, judged, terms

    conditions = terms(args.fail_on) if args.fail_on is not None else None
    sides = _Sides(args.baseline)
    given = _sides(args, sides)
    if given is None:
        return 0
    from peephole.query.compare.comparison import compared

    noise = [sides.recorded(name) for name in args.baseline_noise]
    found = compared(*given, noise, [_pair(text) for text in args.pair])
    comparison = found.comparison
    if args.save:
        sides.save(given[1][-1], args.save)
    gate = judged(comparison, conditions if conditions is not None else _default(DEFAULT, only))
    if args.kernel is not None:
        from peephole.query.compare.one_kernel import one_kernel

        one = one_kernel(found, args.kernel)
        if args.json:
            from peephole.cli.compare.json_object import kernel_object

            Printer(True).record(kernel_object(comparison, one))
        else:
            from peephole.cli.compare.kernel_text import print_kernel

            print_kernel(Printer(), one)
        return gate.exit_code
    _print(args, comparison, gate, only, explicit=conditions is not None)
    return gate.exit_code


def _print(args: argparse.Namespace, found: Comparison, gate: Gate, only: frozenset[str], explicit: bool) -> None:
    if args.json:
        from peephole.cli.compare.json_object import comparison_object

        Printer(True).record(comparison_object(found, gate, only))
    elif args.markdown:
        from peephole.cli.compare.markdown import markdown

        print(markdown(found, gate if explicit else None, only))
    else:
        from peephole.cli.compare.text import print_comparison

        print_comparison(Printer(), found, gate if explicit else None, only)


def _default(every: str, only: frozenset[str]) -> list[Term]:
    from peephole.query.compare.gate import terms

    part = {"launches": "kernels", "flops": "kernels", "bytes": "kernels", "matches": "rules", "messages": "kernels"}
    kept = [word for word in every.split(",") if part.get(word, word) in only]
    return terms(",".join(kept)) if kept else []


def _only(text: str | None) -> frozenset[str]:
    if text is None:
        return frozenset(PARTS)
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if part not in PARTS:
            raise PeepholeError(f"--only does not know {part!r}; it takes {', '.join(PARTS)}.")
    return frozenset(parts)


def _pair(text: str) -> tuple[str, str]:
    a, equals, b = text.partition("=")
    if not (a and equals and b):
        raise PeepholeError(f"--pair takes A=B, the names of a kernel of A and of one of B, not {text!r}.")
    return a, b


class _Sides:
    """Opens what is compared: a baseline by its name, or whatever is a capture. They stay open until the end."""

    def __init__(self, folder: Path | None) -> None:
        if folder is not None and folder.exists() and not folder.is_dir():
            raise PeepholeError(f"{folder} is not a folder: --baseline takes the one that the baselines are kept in.")
        self.folder = folder
        self._open: list[Capture] = []

    def recorded(self, name: str) -> Recorded:
        """What the user means by that name."""
        from peephole.cli.target import open_target
        from peephole.query.compare.recorded import recorded

        if self.folder is not None:
            from peephole.query.compare.baseline import SUFFIX, load_baseline

            path = self.folder / f"{name.removesuffix(SUFFIX)}{SUFFIX}"
            if "/" not in name and path.is_file():
                return load_baseline(path)
        if name.endswith(".baseline") and Path(name).is_file():
            from peephole.query.compare.baseline import load_baseline

            return load_baseline(Path(name))
        try:
            self._open.append(open_target(name))
        except CaptureError as error:
            if self.folder is None or Path(name).exists():
                raise
            from peephole.query.compare.baseline import baseline_names

            known = ", ".join(baseline_names(self.folder)) or "no baseline"
            raise CaptureError(
                f"There is no {name}, and no baseline of that name: {self.folder} has {known}."
            ) from error
        return recorded(self._open[-1])

    def save(self, side: Recorded, name: str) -> Path:
        """Keeps a recording under a name."""
        from peephole.query.compare.baseline import baseline_path, save_baseline

        if self.folder is None:
            raise PeepholeError("--save keeps a baseline in a folder: say which with --baseline DIR.")
        if side.capture is None:
            raise PeepholeError(f"{side.name} is a baseline already; --save takes a capture.")
        path = baseline_path(self.folder, name)
        save_baseline(side, path)
        return path


def _sides(args: argparse.Namespace, sides: _Sides) -> tuple[Sequence[Recorded], Sequence[Recorded]] | None:
    """Both sides; None when there was only something to keep."""
    names: list[str] = args.capture
    if args.against is not None:
        if not names or not args.against:
            where = "behind" if names else "before"
            raise PeepholeError(f"peephole diff A -- B compares two sides: nothing stands {where} `--`.")
        return [sides.recorded(name) for name in names], [sides.recorded(name) for name in args.against]
    if len(names) == 2:
        return [sides.recorded(names[0])], [sides.recorded(names[1])]
    if len(names) == 1 and args.baseline is not None:
        return _with_baseline(args, sides, names[0])
    if len(names) > 2:
        raise PeepholeError("peephole diff takes two captures; of several a side, `--` stands between the sides.")
    raise PeepholeError("peephole diff compares two captures: `peephole diff A B`; `peephole ls` lists them.")


def _with_baseline(
    args: argparse.Namespace, sides: _Sides, name: str
) -> tuple[Sequence[Recorded], Sequence[Recorded]] | None:
    """A capture against the baseline of its program, which is made when there is none."""
    from peephole.query.compare.baseline import baseline_path, load_baseline

    new = sides.recorded(name)
    if args.save:
        path = sides.save(new, args.save)
        print(f"kept {new.name} as {path}")
        return None
    known = "".join(c if c.isalnum() or c in "._-" else "_" for c in Path(new.program or new.name).stem) or "baseline"
    path = baseline_path(args.baseline, known)
    if not path.exists():
        sides.save(new, known)
        print(f"{args.baseline} had no baseline {known!r}: kept {new.name} as {path}")
        return None
    try:
        return [load_baseline(path)], [new]
    except CaptureError as error:
        raise PeepholeError(str(error)) from None
