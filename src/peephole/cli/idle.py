"""`peephole idle`: who waited, and for what."""

from __future__ import annotations

import argparse

from peephole.cli.format import Column, Printer, count, duration, moment
from peephole.cli.target import add_json, add_target, open_target

HELP = """The longest stretches in which a track did nothing, with what ran before and after, and how busy each track
was. Without -s: the devices and workers, or every track where there are none."""

_TRACKS = 64
"""Tracks that are summed up in the terminal, or -n when that is more; JSON has them all."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_target(parser)
    parser.add_argument("-s", "--source", metavar="SOURCE", help="one track only (`peephole show --ls` lists them)")
    parser.add_argument("-n", "--limit", type=int, default=20, metavar="N", help="how many gaps (default: 20)")
    parser.add_argument("--interval", nargs="+", metavar=("A", "B"), help="from A to B, as `peephole show` takes them")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the gaps and the sums."""
    from peephole.query.capture.info import span
    from peephole.query.capture.names import Track, find_tracks, missing, titled, told_apart, tracks
    from peephole.query.timeline.idle import idle
    from peephole.query.timeline.interval import find_interval

    capture = open_target(args.capture)
    chosen = None
    if args.source is not None:
        known = tracks(capture)
        chosen = {track.id for track in find_tracks(known, args.source)}
        if not chosen:
            raise missing(args.source, [track.name for track in known if track.slices], "track")
    interval = find_interval(capture, args.interval) if args.interval else None
    found = idle(capture, chosen, interval, max(args.limit, 0))
    printer = Printer(args.json)
    if args.json:
        for gap in found.gaps:
            facts = {"track": gap.track.name, "track_id": gap.track.id, "start_ns": gap.start, "dur_ns": gap.dur}
            printer.record({**facts, "before": gap.before, "after": gap.after})
        for busy in found.tracks:
            sums = {"busy_ns": busy.busy, "idle_ns": busy.idle, "gaps": busy.gaps, "share": round(busy.share, 6)}
            printer.record({"track": busy.track.name, "track_id": busy.track.id, **sums})
        return 0
    if not found.tracks:
        printer.line("This capture has no slices, so nobody waited.")
        return 0
    origin = (span(capture) or (0, 0))[0]
    where = told_apart(tracks(capture))

    def title(track: Track) -> str:
        return titled(track.name, where.get(track.id, ""))

    columns = (
        Column("start", right=True, style="dim"),
        Column("idle", right=True, style="yellow"),
        Column("track", style="cyan", flexible=True),
        Column("before", flexible=True),
        Column("after", flexible=True),
    )
    rows = [
        (moment(gap.start - origin), duration(gap.dur), title(gap.track), gap.before, gap.after) for gap in found.gaps
    ]
    printer.table(columns, rows)
    printer.line()
    sums_of = (
        Column("track", style="cyan", flexible=True),
        Column("busy", right=True),
        Column("idle", right=True, style="yellow"),
        Column("gaps", right=True),
        Column("share busy", right=True),
    )
    shown = found.tracks[: max(args.limit, _TRACKS)]
    printer.table(
        sums_of,
        [(title(b.track), duration(b.busy), duration(b.idle), count(b.gaps), f"{b.share:.1%}") for b in shown],
    )
    if len(found.tracks) > len(shown):
        printer.line((f"and {count(len(found.tracks) - len(shown))} tracks more", "dim"))
    return 0
