"""A recorded program sees what it would see unrecorded: its objects, its output, its tracebacks, its exit code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sources.tinygrad.runs import environment

OBJECTS = """
import copy, dataclasses, inspect, pickle
from tinygrad import Tensor
from tinygrad import helpers, tensor
from tinygrad.helpers import Metadata
x = (Tensor([1.0, 2]).exp() + 1).relu()
(y,) = x.uop.metadata
print(x.uop.metadata, str(y), vars(y), y.__dict__)
print(type(y) is Metadata, type(y) is tensor.Metadata, tensor.Metadata is helpers.Metadata, type(tensor.Metadata))
print(y == Metadata("relu"), y == Metadata("relu", True), hash(y) == hash("relu"), y == dataclasses.replace(y))
print(pickle.dumps(y), pickle.loads(pickle.dumps(y)) == y, copy.deepcopy(y) == y)
print(inspect.signature(Metadata), [field.name for field in dataclasses.fields(Metadata)], Metadata.__init__.__name__)
print(tensor._METADATA.get(), dir(y) == dir(Metadata("relu")))
print(pickle.dumps(x.uop), repr(x.uop), x.uop.key.hex())
print(x.tolist())
"""

# what tinygrad's own tests ask for, and what a program gets that switches tracking on for itself
SWITCHES = """
import copy, pickle
import tinygrad
from tinygrad import Tensor, Context, helpers, device, tensor
from tinygrad.helpers import ContextVar, VIZ, PROFILE, TRACEMETA, PARALLEL, cpu_events
from tinygrad.helpers import getenv, profile_marker, cpu_profile
from tinygrad.uop import ops
from tinygrad.uop.ops import TRACK_MATCH_STATS, tracked_keys, tracked_ctxs, uop_fields, PatternMatcher, UPat, Ops

lists = cpu_events, tracked_keys, tracked_ctxs, device.Buffer.profile_events, device.Compiled.profile_events
switches = VIZ, PROFILE, TRACEMETA, PARALLEL, TRACK_MATCH_STATS

def show(*what):
    print(*what, type(uop_fields), bool(uop_fields), [(type(one).__name__, len(one)) for one in lists])
    print([one.value for one in switches], [*map(type, switches)])

x = Tensor([[1.0, 2], [3, 4]]).realize()
print((x + 1).exp().tolist(), bool(VIZ), VIZ == 0, getenv("VIZ"), getenv("VIZ", 5))
print(ops.VIZ is VIZ, device.PROFILE is PROFILE)
show("quiet")
print(ContextVar._cache["VIZ"] is VIZ, tinygrad.Context is helpers.Context is ops.Context, Context.__qualname__)
print(PatternMatcher, pickle.loads(pickle.dumps(VIZ)).value, copy.copy(cpu_events) == cpu_events)
print(len(pickle.dumps(PatternMatcher([(UPat(Ops.CONST), max)]))))
profile_marker("mine")
with cpu_profile("mine"): pass
show("marked", cpu_events[-1].name)
cpu_events.clear()
with Context(VIZ=-1, TRACK_MATCH_STATS=2, PROFILE=1):
    show("inside")
    (x * 7).tolist()
    with Context(TRACK_MATCH_STATS=0): (x * 8).tolist()
    with cpu_profile("mine"): pass
show("tracked")
print([key.display_name for key in tracked_keys], [[step.name for step in steps] for steps in tracked_ctxs])
print([getattr(event.name, "display_name", event.name) for event in cpu_events])
print(all(step.sink in uop_fields for steps in tracked_ctxs for step in steps))
for one in (cpu_events, tracked_keys, tracked_ctxs): one.clear()
with Context(TRACK_MATCH_STATS=2): (x * 9).tolist()
show("again")
PROFILE.value = 1
(x * 10).tolist()
show("by hand", [getattr(event.name, "display_name", event.name) for event in cpu_events])
PROFILE.value = 0
(x * 11).tolist()
show("off")
try: Context(NOTHING=1).__enter__()
except KeyError as error: print(repr(error))
"""

RAISES = """
import traceback
from tinygrad import Device, Tensor
from tinygrad.runtime import ops_python
from tinygrad.uop.ops import UOp, Ops, UPat, PatternMatcher, graph_rewrite

def show(what, call):
    try: call()
    except BaseException: print(what, traceback.format_exc())

def fail(*args, **kwargs): raise ValueError("as it was told to")

def broken_rule():
    graph_rewrite(UOp.const(1).sink(), PatternMatcher([(UPat(Ops.CONST, name="c"), fail)]), name="broken")

def broken_kernel():
    execute = ops_python.exec_alu
    ops_python.exec_alu = fail
    try: (Tensor([1.0, 2, 3]) + Tensor([4.0, 5, 6])).realize()
    finally: ops_python.exec_alu = execute

def broken_copy():
    Tensor([1.0, 2, 3]).to("DISK:/nowhere/at/all").realize()

def interrupted_rule():
    def stop(c): raise KeyboardInterrupt
    graph_rewrite(UOp.const(1).sink(), PatternMatcher([(UPat(Ops.CONST, name="c"), stop)]), name="stopped")

for call in (broken_rule, broken_kernel, broken_copy, interrupted_rule): show(call.__name__, call)
from tinygrad.helpers import cpu_events
cpu_events.clear()
show("empty", cpu_events.pop)
raise KeyboardInterrupt
"""

# an interrupt comes where the interpreter looks for one: after a call, at a loop's end, and when a function is entered
# (tests/record/test_unseen.py); here at each such place of ours in turn
EVERYWHERE = """
import dis, gc, os, sys, traceback
import tinygrad
from tinygrad import Tensor
import peephole
home = os.path.dirname(os.path.abspath(peephole.__file__)) + os.sep
LOOKS = ("CALL", "PRECALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD")
passed = 0

def trace(frame, event, arg):
    global passed
    if not frame.f_code.co_filename.startswith(home) or frame.f_code.co_name == "hide": return None
    frame.f_trace_opcodes, frame.f_trace_lines = True, False
    at = frame.f_lasti
    if event == "opcode" and dis.opname[frame.f_code.co_code[at]] in LOOKS:
        passed += 1
        if passed == wanted:
            sys.settrace(None)
            raise KeyboardInterrupt
    return trace

def work(size):
    x = Tensor([1.0] * size).realize()
    return (x.exp() + x).realize()

work(3)
wanted, size, seen, shown = -1, 4, 0, []
sys.settrace(trace)
work(size)
sys.settrace(None)
total = passed
gc.disable()
for wanted in range(1, total + 1, max(1, total // 150)):
    size += 1
    passed = 0
    sys.settrace(trace)
    try: work(size)
    except KeyboardInterrupt as error:
        seen += 1
        shown += [f.name for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(home)]
    finally: sys.settrace(None)
    if tinygrad.uop.ops.active_rewrites: tinygrad.uop.ops.active_rewrites.clear()
    if tinygrad.uop.ops.active_group: tinygrad.uop.ops.active_group.clear()
print(total, seen, shown)
"""


def outcome(
    folder: Path, program: str, *, recorded: bool, device: str = "PYTHON", **more: str
) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    script = folder / "program.py"
    script.write_text(program)
    env = environment(folder, device, **more)
    capture = folder / "run.peep"
    words = ["-m", "peephole", "run", "-o", str(capture)] if recorded else []
    done = subprocess.run(
        [sys.executable, *words, str(script)], check=False, env=env, capture_output=True, text=True, timeout=240
    )
    lines = [line for line in done.stderr.splitlines(keepends=True) if not line.startswith("peephole: recorded ")]
    done.stderr = "".join(lines)
    return done


@pytest.mark.parametrize("program", [OBJECTS, RAISES, SWITCHES], ids=["objects", "tracebacks", "switches"])
def test_output_and_exit_code_are_the_same(tmp_path: Path, program: str) -> None:
    plain = outcome(tmp_path, program, recorded=False)
    recorded = outcome(tmp_path, program, recorded=True)
    for done in (plain, recorded):
        # the one frame of tinygrad's that is at another line while it tracks: it calls the same function there
        done.stdout = re.sub(r"line \d+, in __wrapper\n.*\n( +\^+\n)?", "in __wrapper\n", done.stdout)
    assert plain.stdout and recorded.stdout == plain.stdout
    assert (recorded.stderr, recorded.returncode) == (plain.stderr, plain.returncode)


def test_an_interrupt_anywhere_shows_no_frame_of_ours(tmp_path: Path) -> None:
    done = outcome(tmp_path, EVERYWHERE, recorded=True)
    assert done.returncode == 0, done.stderr
    total, seen, shown = done.stdout.split(maxsplit=2)
    assert shown.strip() == "[]"
    assert int(total) > 100 and int(seen) > 50


@pytest.mark.parametrize("module", ["tinygrad.helpers", "tinygrad.uop.symbolic", "tinygrad.runtime.ops_python"])
def test_an_interrupted_import_shows_what_it_would_show(tmp_path: Path, module: str) -> None:
    """Without our frames, and so without those of the import system, which Python leaves out by itself."""
    program = f"""
import sys

def interrupt(event, args):
    if event == "exec" and args[0].co_filename.endswith({module.replace(".", "/") + ".py"!r}): raise KeyboardInterrupt

sys.addaudithook(interrupt)
from tinygrad import Tensor
Tensor([1.0, 2]).exp().realize()
"""
    plain = outcome(tmp_path, program, recorded=False)
    recorded = outcome(tmp_path, program, recorded=True)
    assert plain.stderr.endswith("KeyboardInterrupt\n")
    assert (recorded.stderr, recorded.returncode) == (plain.stderr, plain.returncode)
