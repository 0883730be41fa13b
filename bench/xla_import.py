"""Dumps of XLA imported: a module's 51 dumps where ../shared has them, ten such modules, and 200 MB of a made-up one.

python bench/xla_import.py [--megabytes 200]
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
SAMPLE = ROOT.parent / "shared" / "fixtures" / "xla" / "block_dump.tar.gz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--instructions", type=int, default=20_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if SAMPLE.exists():
            with tarfile.open(SAMPLE) as archive:
                archive.extractall(folder / "block", filter="data")
            report("the block's dumps", folder / "block", folder / "block.peep")
            report("ten modules of them", copies(folder / "block", folder / "ten"), folder / "ten.peep")
        size = write(folder / "large", options.instructions, options.megabytes << 20)
        report(f"{options.instructions:,} instructions, {size >> 20} MB", folder / "large", folder / "large.peep")
        draw(folder / "large.peep")


def report(what: str, folder: Path, out: Path) -> None:
    from peephole.ingest import import_files

    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    wall, cpu = time.perf_counter(), time.process_time()
    import_files([folder], out)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    row = {
        "bench": f"XLA import: {what}",
        "ours": round(size / 1e6 / wall, 1),
        "unit": "MB/s",
        "mb": round(size / 1e6, 1),
    }
    print(json.dumps({**row, "seconds": round(wall, 2), "cpu": round(cpu, 2), "peak_mb": memory}), flush=True)


def copies(dumps: Path, out: Path) -> Path:
    """The dumps of ten modules that share nothing but their texts."""
    out.mkdir()
    for path in [path for path in dumps.iterdir() if path.is_file()]:
        number, name, rest = path.name.split(".", 2)
        for at in range(10):
            shutil.copyfile(path, out / f"module_{int(number[-4:]) + at:04d}.{name}.{rest}")
    return out


def draw(path: Path) -> None:
    """The graph of a pass, as the page gets it."""
    from peephole.query.rewrites.step_graphs import graph_at
    from peephole.server.graph_wire import graph_reply
    from peephole.store.capture import open_capture

    capture = open_capture(path)
    steps = capture.count("steps")
    for step in (steps // 2, steps - 1):
        wall, cpu = time.perf_counter(), time.process_time()
        graph_reply(capture, graph_at(capture, step, 0))
        row = {"bench": f"XLA import: graph of step {step}", "ours": round(time.perf_counter() - wall, 2), "unit": "s"}
        print(json.dumps({**row, "cpu": round(time.process_time() - cpu, 2)}), flush=True)


def write(folder: Path, count: int, size: int) -> int:
    """Dumps as XLA names them: every second one changes a hundredth of the instructions, the others nothing."""
    folder.mkdir()
    random.seed(1)
    made = 0
    names = [f"op.{i}" for i in range(count)]
    attributes = [""] * count
    ordinal = 0
    while made < size:
        if ordinal % 2:
            for place in random.sample(range(8, count), count // 100):
                attributes[place] = f", changed={ordinal}"
        lines = ["HloModule jit_large, entry_computation_layout={()->f32[64,64]{1,0}}", "", ""]
        lines += ["%main (p: f32[64,64]) -> f32[64,64] {"]
        for i, name in enumerate(names):
            origin = f'metadata={{op_name="jit(large)/layer_{i // 50}/mul" stack_frame_id={i % 40 + 1}}}'
            if i < 8:
                lines.append(f"  %{name} = f32[64,64]{{1,0}} parameter({i}), {origin}")
            else:
                root = "ROOT " if i == count - 1 else ""
                lines.append(
                    f"  {root}%{name} = f32[64,64]{{1,0}} multiply(%{names[i - 7]}, %{names[i - 1 - i % 5]})"
                    f"{attributes[i]}, {origin}"
                )
        text = "\n".join([*lines, "}", ""]).replace("%main", "ENTRY %main", 1).encode()
        name = "after_pipeline-start.before_b" if ordinal % 2 == 0 else "after_pass.before_c"
        (folder / f"module_0001.jit_large.{ordinal:04d}.simplification.{name}.txt").write_bytes(text)
        made += len(text)
        ordinal += 1
    return made


if __name__ == "__main__":
    main()
