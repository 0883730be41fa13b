"""The sound files that mutants are made of, one folder per kind; made by the real writers, in a process of its own.

`python -m fuzz.seeds FOLDER` writes `FOLDER/<kind>/<case>/<file …>`: a case is what is given to Peephole at once.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SHARED: Final = ROOT.parent / "shared" / "fixtures"
_LARGEST: Final = 60_000
"""Bytes of a shared file that is worth mutating: with a larger one each mutant takes long."""

_TINYGRAD: Final = """
from tinygrad import Device, Tensor, TinyJit
from tinygrad.helpers import profile_marker

@TinyJit
def step(x):
    return ((x + 1).sum(axis=0).contiguous() * 2).realize()

data = Tensor([[1.0, 2, 3], [4, 5, 6]]).realize()
for i in range(3):
    profile_marker(f"step {i}", "red")
    step(data)
data.to(Device.DEFAULT + ":1").realize()
"""

_JAX: Final = """
import sys
import jax, jax.numpy as jnp
options = jax.profiler.ProfileOptions()
options.python_tracer_level = 0
@jax.jit
def f(x):
    return jax.lax.fori_loop(0, 3, lambda i, v: jnp.tanh(v @ x) + i, x).sum(0)
x = jnp.ones((4, 4))
f(x)
jax.profiler.start_trace(sys.argv[1], profiler_options=options)
f(x).block_until_ready()
jax.profiler.stop_trace()
"""

_HARDWARE: Final = """
import decimal, pickle, struct, sys
from tests.query.hardware import kernels
from tinygrad.device import ProfileDeviceEvent, ProfileProgramEvent
from tinygrad.runtime.ops_amd import PMCSample, ProfilePMCEvent, ProfileSQTTEvent
import dataclasses

def make(cls, **values):
    return cls(**{f.name: values.get(f.name) for f in dataclasses.fields(cls) if f.init})

binary, program = kernels.kernel("loop")
zero = decimal.Decimal(0)
sample = make(PMCSample, name="SQ_WAVES", block="SQ", xcc=1, inst=1, se=2, sa=1, wgp=2, off=0, size=32)
events = [
    make(ProfileDeviceEvent, device="AMD", tdiff=zero, props={"gfx_target_version": 110000}),
    make(ProfileProgramEvent, device="AMD", name="gemm", lib=binary, base=4096, tag=7),
    *(make(ProfileSQTTEvent, device="AMD", kern=7, se=se, blob=kernels.walk_waves(program, se, 12).blob(),
           itrace=se == 0, exec_tag=5) for se in range(2)),
    make(ProfilePMCEvent, device="AMD", kern=7, sched=[sample], blob=struct.pack("<4Q", 1, 2, 3, 4), exec_tag=5),
]
pickle.dump(events, open(sys.argv[1], "wb"))
"""

_SPANS: Final = """
import os, signal, sys, threading
import peephole
from peephole.record import active, process

process.start_capture(sys.argv[1], "p", ["p"])
recorder = active.start(sys.argv[1])
track = recorder.track("CPU", "device")
for number in range(30):
    recorder.slice(track, number * 10_000, 8_000, f"kernel {number % 4}")
    recorder.row("contexts", id=number, name=f"c{number}", kind="kernel")
    recorder.row("steps", id=number, context=number, ordinal=0, name="pass")
    recorder.row("buffers", id=number, device="CPU", alloc=number, bytes=8)
    recorder.row("markers", time=number * 10_000, name="mark", kind="marker", track=-1)
    recorder.free(number, number + 5)

def work():
    for number in range(20):
        with peephole.span("outer", number=number):
            with peephole.span("inner"):
                pass

thread = threading.Thread(target=work)
thread.start()
work()
thread.join()
if sys.argv[2] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
active.stop()
"""


def _python(folder: Path, text: str, *arguments: str | Path, **env: str) -> None:
    """Runs a program's text with the folders of its own."""
    drop = ("VIZ", "PROFILE", "DEBUG", "PEEPHOLE", "PEEPHOLE_CAPTURE", "PEEPHOLE_ONLY")
    kept = {name: value for name, value in os.environ.items() if name not in drop}
    kept |= {"TMPDIR": str(folder), "CACHEDB": str(folder / "cache.db"), "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", **env}
    command = [sys.executable, "-c", text, *map(str, arguments)]
    subprocess.run(command, cwd=folder, env=kept, check=False, capture_output=True, timeout=300)


def _anonymous(path: Path) -> None:
    """Takes the folders of this machine out of a file, byte for byte: what fails is kept, and belongs to everybody."""
    data = path.read_bytes()
    for own in {str(ROOT), sys.prefix, sys.base_prefix, str(Path.home()), str(path.parents[2])}:
        if len(own) > 3:
            data = data.replace(own.encode(), b"/x".ljust(len(own), b"x"))
    path.write_bytes(data)


def _copied(target: Path, *patterns: str) -> None:
    """Adds the small shared files of these patterns, each a case of its own, where there are any."""
    for pattern in patterns:
        for path in sorted(SHARED.glob(pattern)):
            if path.is_file() and 0 < path.stat().st_size <= _LARGEST:
                case = target / path.name.replace(".", "_")
                case.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, case / path.name)


def tinygrad(target: Path) -> None:
    """Rewrites and profile of a run under VIZ, alone and together."""
    work = target / "work"
    work.mkdir(parents=True)
    (work / "program.py").write_text(_TINYGRAD)
    _python(work, _TINYGRAD, DEV="PYTHON", VIZ="-1")
    found = sorted(work.glob("*.pkl*"))
    for case, files in [("both", found), *((path.name.partition(".")[0], [path]) for path in found)]:
        (target / case).mkdir()
        for path in files:
            copy = target / case / (path.name.partition(".")[0] + ".pkl")
            shutil.copyfile(path, copy)
            _anonymous(copy)
    shutil.rmtree(work)


def hardware(target: Path) -> None:
    """A profile with thread traces and counters."""
    (target / "own").mkdir(parents=True)
    _python(target / "own", _HARDWARE, target / "own" / "profile.pkl")
    _copied(target, "sqtt/*/profile_empty_run_0.pkl", "sqtt/gfx1100/profile_plus_run_0.pkl")


def chrome(target: Path) -> None:
    """Chrome traces: an array, an object, cut short, gzipped."""
    events: list[dict[str, object]] = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "trainer"}},
        {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "main"}},
        {"ph": "M", "pid": 1, "tid": 2, "name": "thread_sort_index", "args": {"sort_index": -3}},
    ]
    for at in range(12):
        events += [
            {"ph": "X", "pid": 1, "tid": 2, "ts": at * 10, "dur": 8.5, "name": f"k{at % 3}", "cat": "kernel,gpu",
             "args": {"correlation": at, "bytes": 1 << at, "shape": [2, 3]}},
            {"ph": "B", "pid": 1, "tid": 3, "ts": at * 10 + 0.001, "name": "outer"},
            {"ph": "E", "pid": 1, "tid": 3, "ts": at * 10 + 7},
            {"ph": "s", "id": at, "pid": 1, "tid": 2, "ts": at * 10 + 1, "name": "flow", "cat": "ac2g"},
            {"ph": "f", "id": at, "pid": 1, "tid": 3, "ts": at * 10 + 6, "name": "flow", "cat": "ac2g", "bp": "e"},
            {"ph": "C", "pid": 1, "ts": at * 10, "name": "memory", "args": {"used": at * 100, "free": 7}},
            {"ph": "i", "pid": 1, "tid": 2, "ts": at * 10 + 2, "name": "mark", "s": "g"},
            {"ph": "b", "id": "0x1", "pid": 1, "tid": 2, "ts": at * 10, "name": "async", "cat": "net"},
            {"ph": "e", "id": "0x1", "pid": 1, "tid": 2, "ts": at * 10 + 5, "name": "async", "cat": "net"},
            {"ph": "i", "pid": 1, "tid": 2, "ts": at * 10 + 3, "name": "[memory]", "s": "t",
             "args": {"Addr": 4096 + at, "Bytes": 512, "Total Allocated": 512 * at, "Device Id": 0, "Device Type": 1}},
        ]  # fmt: skip
    whole = {"traceEvents": events, "displayTimeUnit": "ms", "stackFrames": {"1": {"name": "main"}}, "metadata": {}}
    for case, name, text in (
        ("array", "trace.json", json.dumps(events)),
        ("object", "trace.json", json.dumps(whole, indent=1)),
        ("open", "trace.json", json.dumps(events)[:-40]),
    ):
        (target / case).mkdir(parents=True)
        (target / case / name).write_text(text)
    (target / "gzip").mkdir()
    (target / "gzip" / "trace.json.gz").write_bytes(gzip.compress(json.dumps(whole).encode()))
    _copied(target, "chrome/*", "torch/block/profile/*", "ranks/rank0.json.gz")


def perfetto(target: Path) -> None:
    """Traces of every feature, as Perfetto's own package builds them."""
    from tests.sources.perfetto import traces

    for case, data in (("features", traces.features()), ("beyond", traces.beyond()), ("old", traces.old_events())):
        (target / case).mkdir(parents=True)
        (target / case / "trace.pftrace").write_bytes(data)
    _copied(target, "formats/*.pftrace")


def xla(target: Path) -> None:
    """A small module of JAX: text after some passes, protos, explanations of fusion, kernels, memory, a profile."""
    dump, profile = target.parent / "xla_dump", target.parent / "xla_profile"
    flags = "--xla_dump_hlo_pass_re=.* --xla_dump_hlo_as_text --xla_dump_hlo_as_proto --xla_dump_fusion_visualization"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"--xla_dump_to={dump} {flags}"}
    subprocess.run([sys.executable, "-c", _JAX, str(profile)], check=True, env=environment, timeout=300)
    own = sorted(path for path in dump.iterdir() if ".jit_f." in path.name and path.is_file())
    by_end = {
        end: [path for path in own if path.name.endswith(end)] for end in (".txt", ".hlo.pb", ".html", ".ll", ".o")
    }
    texts = [path for path in by_end[".txt"] if path.stat().st_size < _LARGEST]
    kernels = [*by_end[".ll"][:1], *by_end[".o"][:1], *(path for path in by_end[".html"] if path.stat().st_size < 4e5)]
    cases = {"text": [*texts[::4], *texts[-6:], *kernels], "proto": by_end[".hlo.pb"][::6]}
    cases["profile"] = list(profile.rglob("*.xplane.pb"))
    for case, paths in cases.items():
        (target / case).mkdir(parents=True)
        for path in dict.fromkeys(paths):
            shutil.copy(path, target / case / path.name)
    for folder in (dump, profile):
        shutil.rmtree(folder)


def sqlite(target: Path) -> None:
    """Databases of Nsight Systems and rocprofv3."""
    from tests.sources.sqlite import databases

    for case, write in (("nsight", databases.nsight), ("rocpd", databases.rocpd)):
        (target / case).mkdir(parents=True)
        write(target / case / "run.db", 3)
    (target / "runs").mkdir()
    databases.rocpd(target / "runs" / "run.db", 2, (databases.GUID, databases.GUID.replace("a1b2", "ffff")))


def cuda_memory(target: Path) -> None:
    """A memory snapshot in PyTorch's form."""
    import pickle

    from tests.sources.cuda_memory.test_snapshot import snapshot

    (target / "own").mkdir(parents=True)
    (target / "own" / "snapshot.pickle").write_bytes(pickle.dumps(snapshot(8), protocol=4))


def stacks(target: Path) -> None:
    """Profiles of stacks in several forms."""
    from tests.sources.stacks.test_stacks import FLAT, LINES, PERF

    folded = "main;step;gemm 12\nmain;step 3\nmain;load (a.py:4) 7\n"
    for case, text in (("perf", PERF), ("flat", FLAT), ("lines", LINES), ("folded", folded)):
        (target / case).mkdir(parents=True)
        (target / case / "profile.txt").write_text(text)
    frame = {"functionName": "main", "lineNumber": 3, "id": 1, "children": [{"functionName": "inner", "id": 2}]}
    records = [[["main\0<thread>\0001", "step\0a.py\0003\1cModel\1l5"], 0.5], [["main\0<thread>\0001"], 0.1]]
    tree = {"function": "step", "time": 0.5, "line_no": 3, "children": [{"function": "gemm", "time": 0.2}]}
    calls = [{"id": 1, "callFrame": {"functionName": "main", "url": "a.js", "lineNumber": 3}, "children": [2]},
             {"id": 2, "callFrame": {"functionName": "inner", "url": "a.js", "lineNumber": 7}}]  # fmt: skip
    for case, value in (
        ("node", {"nodes": calls, "startTime": 5, "endTime": 99, "samples": [1, 2, 1], "timeDeltas": [1, 4, -2]}),
        ("older", {"head": frame, "startTime": 1.5, "endTime": 1.6, "samples": [1, 2, 1], "timestamps": [1, 5, 9]}),
        ("session", {"start_time": 5.0, "sample_count": 2, "start_call_stack": [], "frame_records": records}),
        ("tree", {"start_time": 5.0, "sample_count": 2, "root_frame": tree}),
    ):
        (target / case).mkdir(parents=True)
        (target / case / "profile.json").write_text(json.dumps(value))
    _copied(target, "formats/*.speedscope.json", "formats/*.folded.txt")


def mlir(target: Path) -> None:
    """What passes print: a log of states after and before, the files of a tree, StableHLO as JAX lowers it."""
    from tests.sources.mlir.test_mlir import LOWERED, SMALL

    other = SMALL.replace("by 2.0", "by 3.0")
    states = (("After A: a", SMALL), ("Before B (b)", SMALL), ("After B (b)", other), ("After C: c Failed", SMALL))
    log = "".join(f"// -----// IR Dump {name} //----- //\n{text}\n" for name, text in states)
    files = {"log/passes.log": log, "tree/0_a.mlir": SMALL, "tree/1_b.mlir": other, "tree/1_2_c.mlir": other}
    for name, text in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text)
    (target / "stablehlo").mkdir()
    _python(target, LOWERED, target / "stablehlo" / "f.mlir", JAX_PLATFORMS="cpu")
    _anonymous(target / "stablehlo" / "f.mlir")


def chakra(target: Path) -> None:
    """Execution traces: a small one in torch's form with a profile beside it, Chakra's messages and their JSON."""
    from tests.sources import test_chakra

    cases = {
        "proto": test_chakra.chakra_bytes(),
        "converted": test_chakra.chakra_bytes(test_chakra.CONVERTED),
        "messages": test_chakra.chakra_json().encode(),
        "listed": test_chakra.chakra_list(),
    }
    for case, data in cases.items():
        (target / case).mkdir(parents=True)
        (target / case / "t.et").write_bytes(data)
    (target / "observed").mkdir()
    for name, value in test_chakra.small_trace().items():
        (target / "observed" / name).write_text(json.dumps(value))


def tape(target: Path) -> None:
    """A GT tape, the monitor's lines, and a gzipped tape."""

    def line(time: float, seq: int, event: str, who: str, command: str, size: str = "", details: str = "") -> str:
        source, _, name = who.partition(" ")
        text = f"{time:7.3f}s | #{seq:04d} | {event:12} | {source} {name:20} | {command:15}"
        return text + (f" | {size:>10}" if size else "") + (f" | {details}" if details else "") + "\n"

    client = "CLIENT CLIENT 00cc"
    said = [(0.1, "RECV", f"WORKER {name}", "RegisterWorker", "88B", f"worker_id={name}") for name in ("wa", "wb")]
    said.append((1.0, "RECV", client, "CompileStart", "85B", "signal=forward"))
    for i in range(12):
        at, ok = 1 + i / 10, f"success={i != 5}"
        said += [
            (at, "RECV", client, "BinaryOp", "91B", f"result={i} op=matmul left=0 right=1"),
            (at + 0.001, "WORKER_SEND", "WORKER wa", "WorkerBinaryOp", "1.5KB", "op=matmul"),
            (at + 0.030, "WORKER_RECV", "WORKER wa", "WorkerBinaryOp", "91B", ok),
            (at + 0.031, "SEND", client, "BinaryOp", "91B", ok),
        ]
    said.append((3.1, "RECV", client, "CompileEnd", "85B", "signal=forward"))
    text = "".join(line(at, seq, *more) for seq, (at, *more) in enumerate(said, 1))
    for case, name, data in (("log", "tape.log", text.encode()), ("gzip", "tape.log.gz", gzip.compress(text.encode()))):
        (target / case).mkdir(parents=True)
        (target / case / name).write_bytes(data)
    (target / "monitor").mkdir()
    keys = ("timestamp", "seq", "event", "source", "command", "size", "details")
    lines = [json.dumps(dict(zip(keys, (at, seq, *more), strict=False))) for seq, (at, *more) in enumerate(said, 1)]
    (target / "monitor" / "monitor.jsonl").write_text("\n".join(lines) + "\n")
    _copied(target, "gt/0[123]*.log", "gt/*.jsonl", "gt/15*.log", "gt/bad/*")


def capture(target: Path) -> None:
    """Sealed captures: a timeline with everything on it, recorded spans, what other kinds become when imported."""
    from tests.timeline_capture import write_timeline

    target.mkdir(parents=True, exist_ok=True)
    (target / "timeline").mkdir()
    write_timeline(target / "timeline" / "c.peep")
    (target / "spans").mkdir()
    _python(target, _SPANS, target / "spans" / "c.peep", "end")
    from peephole.store.capture import open_capture

    open_capture(target / "spans" / "c.peep").close()
    _anonymous(target / "spans" / "c.peep" / "manifest.json")
    from peephole.ingest import import_files

    for kind, case in (("tinygrad", "both"), ("hardware", "own"), ("tape", "log"), ("chrome", "object")):
        files = sorted((target.parent / kind / case).iterdir())
        import_files(files, target / kind / "c.peep")


def ranks(target: Path) -> None:
    """Traces of two ranks of one training."""
    from tests.rank_traces import write_ranks

    (target / "two").mkdir(parents=True)
    write_ranks(target / "two", 2, steps=2, kernels=2)


def run(target: Path) -> None:
    """The run made of them."""
    from peephole.fleet.run import make_run

    (target / "two").mkdir(parents=True)
    make_run([str(path) for path in sorted((target.parent / "ranks" / "two").iterdir())], target / "two" / "c.peep")


def journal(target: Path) -> None:
    """Unsealed captures: a program that was killed, one that ended, one of the format's first version."""
    for case, end in (("killed", "kill"), ("whole", "end")):
        (target / case).mkdir(parents=True)
        _python(target, _SPANS, target / case / "c.peep", end)
        for path in (target / case).rglob("*.seg"):  # what a kill leaves is preallocated: a hole of a megabyte
            path.write_bytes(path.read_bytes()[: 64 << 10])
    shutil.unpack_archive(ROOT / "tests" / "store" / "old" / "version1_killed.zip", target / "old" / "c.peep")
    for path in target.rglob("*.json"):
        _anonymous(path)


def pack(target: Path) -> None:
    """Packed captures."""
    from peephole.store.pack import pack as packed

    for case in ("timeline", "tinygrad"):
        (target / case).mkdir(parents=True)
        packed(target.parent / "capture" / case / "c.peep", target / case / "c.peep.zip")


def baseline(target: Path) -> None:
    """Captures with a baseline of each beside it."""
    from peephole.query.compare.baseline import save_baseline
    from peephole.query.compare.recorded import recorded
    from peephole.store.capture import open_capture

    for case in ("timeline", "tape", "tinygrad"):
        shutil.copytree(target.parent / "capture" / case, target / case)
        with closing(open_capture(target / case / "c.peep")) as capture:
            save_baseline(recorded(capture), target / case / "old.baseline")


def bytepack(target: Path) -> None:
    """Exported profiles."""
    from peephole.render.bytepack import write_bytepack
    from peephole.store.capture import open_capture

    for case in ("timeline", "tape", "tinygrad"):
        (target / case).mkdir(parents=True)
        with (target / case / "c.bytepack").open("wb") as file:
            write_bytepack(open_capture(target.parent / "capture" / case / "c.peep"), file)


def torch(target: Path) -> None:
    """Logs of torch.compile: a small one, one with problems of every kind, two ranks', a printed graph."""
    from tests.query.problems.test_problems import log
    from tests.sources.torch import logs

    cases = {
        "small": {"t.log": logs.small_log()},
        "problems": {"t.log": log()},
        "ranks": {f"t_rank_{rank}_x.log": logs.small_log(rank) for rank in (0, 1)},
        "graphs": {"t.log": logs.small_log() + logs.every_graph()},
        "debug": {"fx_graph_readable.py": logs.GRAPH, "output_code.py": logs.WRAPPER},
    }
    for case, files in cases.items():
        (target / case).mkdir(parents=True)
        for name, text in files.items():
            (target / case / name).write_text(text)


MAKERS: Final[tuple[Callable[[Path], None], ...]] = (
    tinygrad, hardware, chrome, perfetto, sqlite, cuda_memory, stacks, chakra, mlir,
    xla, tape, torch, capture, ranks, run, journal, pack, bytepack, baseline
)  # fmt: skip
"""In this order: some are made of what others left."""


def main(folder: Path) -> None:
    """Makes all of them."""
    for make in MAKERS:
        make(folder / make.__name__)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
