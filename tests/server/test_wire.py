"""The page's types of what the server sends (web/src/wire) against real answers of the server.

A key that an interface names and no answer has is read as `undefined` somewhere; one that is sent and not named is work
for nothing. Both fail here, with the names of the interface and the key.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.query.hardware import kernels, pma, streams
from tests.query.problems.test_problems import log as problem_log
from tests.rank_traces import write_ranks
from tests.sources.torch.logs import small_log
from tests.timeline_capture import MS, write_timeline

from peephole.fleet.run import make_run
from peephole.ingest import import_files
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

from .conftest import BASE, write_capture

ROOT = Path(__file__).resolve().parent.parent.parent
API = "/api/v1/captures"

PASSES = Path(__file__).parent.parent / "passes_program.py"
PROGRAM = """
from tinygrad import Tensor
a = Tensor.rand(64, 32).realize()
b = Tensor.rand(32, 16).realize()
c = (a @ b).relu()
(c.softmax(-1).sum() + (a.contiguous() * 2).sum()).realize()
import peephole
peephole.marker("done")
"""

UNREAD = {
    "compare.MemoryPeakWire": {"buffers_a", "buffers_b"},
    "compare.RuleCountWire": {"place_a", "place_b"},
    "compare.RuleLineWire": {"matches"},
    "capture.CaptureInfo": {"host"},
    "capture.NodeWire": {"op", "dtype", "arg", "shape", "src", "tag", "name"},
    "hardware.TraceWire": {"stream"},
    "schedule.ScheduleWire": {"madeIn"},
    "timeline.OverviewHead": {"generation"},
}
"""Keys of the API (docs/api.md) that the page does not read. One that is sent no more must leave this list."""


class Checker:
    """Holds answers against interfaces, and remembers what of them it has seen."""

    def __init__(self, interfaces: dict[str, Any]) -> None:
        self.interfaces = interfaces
        self.problems: set[str] = set()
        self.keys: dict[str, set[str]] = {}
        self.unread: set[str] = set()

    def check(self, value: Any, of: dict[str, Any], where: str) -> None:
        kind = of["is"]
        if kind == "interface":
            self.object(value, self.interfaces[of["name"]], of["name"])
        elif kind == "object":
            self.object(value, of["keys"], where)
        elif kind == "array" and isinstance(value, list):
            for one in value:
                self.check(one, of["of"], where)
        elif kind == "tuple" and isinstance(value, list) and len(value) == len(of["of"]):
            for one, type_ in zip(value, of["of"], strict=True):
                self.check(one, type_, where)
        elif kind == "record" and isinstance(value, dict):
            for one in value.values():
                self.check(one, of["of"], where)
        elif kind == "union":
            branch = next((one for one in of["of"] if matches(value, one)), None)
            if branch is None:
                self.problems.add(f"{where}: {value!r:.60} is none of {[one['is'] for one in of['of']]}")
            else:
                self.check(value, branch, where)
        elif not matches(value, of):
            self.problems.add(f"{where}: {value!r:.60} is no {of.get('value', kind)}")

    def object(self, value: Any, keys: dict[str, Any], name: str) -> None:
        if not isinstance(value, dict):
            self.problems.add(f"{name}: {value!r:.60} is no object")
            return
        self.unread.update(f"{name}.{key}" for key in UNREAD.get(name, set()) & value.keys())
        for key in value.keys() - keys.keys() - UNREAD.get(name, set()):
            self.problems.add(f"{name} lacks {key}, which the server sends")
        for key, facts in keys.items():
            if key in value:
                self.keys.setdefault(name, set()).add(key)
                self.check(value[key], facts["type"], f"{name}.{key}")
            elif not facts["optional"]:
                self.problems.add(f"{name} names {key}, which the server does not send")

    def unseen(self) -> set[str]:
        """Interfaces, parts of them and keys that no answer had. Those that hold columns are not sent as JSON."""
        found = {f"{name}.{key}" for name, keys in UNREAD.items() for key in keys} - self.unread

        def look(of: dict[str, Any], where: str) -> None:
            if of["is"] == "object":
                look_at(of["keys"], where)
            elif of["is"] in ("array", "record"):
                look(of["of"], where)
            elif of["is"] in ("tuple", "union"):
                for one in of["of"]:
                    look(one, where)

        def look_at(keys: dict[str, Any], name: str) -> None:
            found.update(f"{name}.{key}" for key in keys.keys() - self.keys.get(name, set()))
            for key, facts in keys.items():
                look(facts["type"], f"{name}.{key}")

        for name, keys in self.interfaces.items():
            if not self.has_columns({"is": "object", "keys": keys}) and not name.endswith("Facts"):
                look_at(keys, name)
        return found

    def has_columns(self, of: dict[str, Any]) -> bool:
        kind = of["is"]
        if kind == "interface":
            return self.has_columns({"is": "object", "keys": self.interfaces[of["name"]]})
        if kind == "object":
            return any(self.has_columns(facts["type"]) for facts in of["keys"].values())
        return kind == "column" or (kind == "array" and self.has_columns(of["of"]))


def matches(value: Any, of: dict[str, Any]) -> bool:
    """Whether a value of JSON may be of that type, seen from outside."""
    if isinstance(value, bool):
        return of["is"] in ("boolean", "unknown")
    kinds: list[tuple[Any, tuple[str, ...]]] = [
        (type(None), ("null",)),
        (str, ("string",)),
        (int, ("number",)),
        (float, ("number",)),
        (list, ("array", "tuple")),
        (dict, ("interface", "object", "record")),
    ]
    if of["is"] == "literal":
        return bool(value == of["value"])
    return of["is"] == "unknown" or any(isinstance(value, type_) and of["is"] in names for type_, names in kinds)


@pytest.fixture(scope="module")
def interfaces() -> dict[str, Any]:
    node = shutil.which("node")
    if node is None or not (ROOT / "web" / "node_modules" / "typescript").is_dir():
        pytest.skip("needs Node and web/node_modules; `make test` installs them")
    command = [node, "scripts/wire_types.mjs"]
    done = subprocess.run(command, cwd=ROOT / "web", check=True, capture_output=True, text=True, timeout=120)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory, tape_line: Any) -> TestClient:
    """A server with a capture of each kind."""
    folder = tmp_path_factory.mktemp("wire")
    write_capture(folder / "hand.peep")
    write_timeline(folder / "steps.peep")
    write_hardware(folder / "hw.peep")
    write_parted(folder / "left.peep", 5, 1)
    write_parted(folder / "right.peep", 9, 3)
    (folder / "tape.log").write_text(tape_text(tape_line))
    import_files([folder / "tape.log"], folder / "tape.peep")
    make_run(write_ranks(folder, 4, slow={2: (1, 2, 3, 4)}).files[:3], folder / "run.peep")
    (folder / "torch.log").write_text(problem_log())
    import_files([folder / "torch.log"], folder / "torch.peep")
    (folder / "graphs.log").write_text(small_log())
    import_files([folder / "graphs.log"], folder / "graphs.peep")
    (folder / "prog.py").write_text(PROGRAM)
    env = {**os.environ, "DEV": "NULL", "PEEPHOLE_DIR": str(folder), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "peephole", "run", "--no-view", "-o", str(folder / "real.peep"), "prog.py"]
    subprocess.run(command, cwd=folder, env=env, check=True, timeout=120, capture_output=True)
    other = [*command[:-2], str(folder / "other.peep"), "prog.py"]
    subprocess.run(other, cwd=folder, env={**env, "NOOPT": "1"}, check=True, timeout=120, capture_output=True)
    subprocess.run([sys.executable, str(PASSES), str(folder / "passes.peep")], env=env, check=True, timeout=120)
    paths = sorted(folder.glob("*.peep"))
    return TestClient(create_app(Library(paths)), base_url=BASE, raise_server_exceptions=False)


def write_parted(path: Path, line: int, became: int) -> None:
    """A kernel whose first pass and the one inside it are alike but for a rule that fired, and what it made."""
    with CaptureWriter(path) as writer:
        ops = {"op": ["CONST", "CONST", "ADD", "CONST"], "dtype": ["int"] * 4, "arg": ["1", "2", None, "3"]}
        writer.append("nodes", {"id": [0, 1, 2, 3], **ops, "src": [[], [], [0, 1], []]})
        writer.append("contexts", {"id": [0], "name": ["k"], "kind": ["kernel"], "keys": ['["k"]'], "stack": ["[]"]})
        steps = {"id": [0, 1], "context": [0, 0], "ordinal": [0, 1], "depth": [0, 1], "name": ["outer", "inner"]}
        writer.append("steps", {**steps, "root": [2, 2], "matches": [1, 1]})
        places = {"file": ["rules.py", "rules.py"], "line": [line, line]}
        writer.append("matches", {"step": [0, 1], "ordinal": [0, 0], "before": [0, 0], "after": [became] * 2, **places})
        text = {"context": [0], "kind": ["source"], "language": ["c"], "name": ["k"]}
        writer.append("artifacts", {**text, "content": [f"void k() {{ {became}; }}".encode()]})


def write_hardware(path: Path) -> None:
    binary, program = kernels.kernel("loop")
    with CaptureWriter(path) as writer:
        artifact = {"kind": ["binary"], "name": ["gemm"], "language": ["gfx1100"], "content": [binary]}
        writer.append("artifacts", artifact)
        trace = {"kernel": ["gemm"] * 3, "device": ["AMD"] * 3, "run": [0] * 3, "kind": ["sqtt", "pmc", "pma"]}
        more = {"unit": ["SE:0", "", ""], "arch": ["gfx1100"] * 3}
        props = [json.dumps({"itrace": True}), json.dumps({"sched": streams.SCHED}), "{}"]
        samples = pma.packets(0, pma.ampere((9, 3, 0x120, 0)))
        content = [kernels.walk_waves(program, 1, 300).blob(), struct.pack("<9Q", *range(1, 9), 100), samples]
        writer.append("hardware", {**trace, **more, "props": props, "content": content})


def tape_text(line: Any) -> str:
    """Two workers of which one works, a signal around the work, a failure, and a command whose work is not logged."""
    client = "CLIENT CLIENT 00cc"
    said: list[tuple[float, str, str, str, str, str]] = []
    for worker in ("wa", "wb"):
        said.append((0.1, "RECV", f"WORKER {worker}", "RegisterWorker", "88B", f"worker_id={worker}"))
    said.append((1.0, "RECV", client, "CompileStart", "85B", "signal=forward"))
    for i in range(20):
        at, ok = 1 + i / 10, f"success={i != 5}"
        said += [
            (at, "RECV", client, "BinaryOp", "91B", f"result={i} op=matmul left=0 right=1"),
            (at + 0.001, "WORKER_SEND", "WORKER wa", "WorkerBinaryOp", "1.5KB", "op=matmul"),
            (at + 0.030, "WORKER_RECV", "WORKER wa", "WorkerBinaryOp", "91B", ok),
            (at + 0.031, "SEND", client, "BinaryOp", "91B", ok),
        ]
    said.append((3.1, "RECV", client, "CompileEnd", "85B", "signal=forward"))
    said += [
        (3.2, "RECV", client, "BinaryOp", "9B", "result=1 op=matmul left=0 right=1"),
        (3.2, "MODIFIER_INJECT", client, "BinaryOp", "", "result=1 op=matmul left=0 right=1"),
        (3.7, "SEND", client, "BinaryOp", "9B", "success=True"),
    ]
    lines = [line(at, seq, *more) for seq, (at, *more) in enumerate(said, 1)]
    return "".join(lines) + "this line says nothing\n"


def head_of(content: bytes) -> Any:
    size = int.from_bytes(content[:4], "little")
    return json.loads(content[4 : 4 + size])


def test_every_answer_has_the_keys_that_the_page_reads(answers: TestClient, interfaces: dict[str, Any]) -> None:
    checker = Checker(interfaces)

    def get(path: str) -> Any:
        reply = answers.get(f"{API}{path}")
        assert reply.status_code == 200, (path, reply.text)
        return reply.json() if reply.headers["content-type"].startswith("application/json") else head_of(reply.content)

    def check(name: str, path: str) -> Any:
        value = get(path)
        checker.check(value, {"is": "interface", "name": name}, name)
        return value

    for row in get("")["captures"]:
        checker.check(row, {"is": "interface", "name": "capture.CaptureRow"}, "capture.CaptureRow")
    for handle in ("hand", "steps", "hw", "tape", "real"):
        check("capture.CaptureInfo", f"/{handle}")
    rewrites(check)
    for step in get("/real/steps")["id"]:
        node = get(f"/real/steps/{step}/graph")["identity"][0]
        if found := get(f"/real/steps/{step}/passages?identity={node}"):
            checker.check(found[0], {"is": "interface", "name": "capture.PassageWire"}, "capture.PassageWire")
            break
    for life in get(f"/real/steps/{step}/lives?identity={node}"):
        checker.check(life, {"is": "interface", "name": "capture.LifeWire"}, "capture.LifeWire")
    chains = [
        link
        for step in get("/graphs/steps")["id"]
        for node in get(f"/graphs/steps/{step}/graph")["id"]
        for link in get(f"/graphs/steps/{step}/chain?node={node}")
    ]
    assert "line" in {link["stage"] for link in chains}
    for link in chains:
        checker.check(link, {"is": "interface", "name": "capture.LinkWire"}, "capture.LinkWire")
    compiled(check)
    timeline(check)
    compare(check)
    memory(check)
    tape(check, get)
    hardware(check, get, checker)
    note = {"kind": "slice", "row": 3, "text": "look"}
    assert answers.post(f"{API}/steps/notes", json=note, headers={"origin": BASE}).status_code == 200
    check("notes.NotesWire", "/steps/notes")
    check("problems.ProblemsWire", "/torch/problems")
    check("problems.ProblemLinesWire", "/torch/problems/lines?kind=break&id=0/0")
    check("sql.SqlTablesWire", "/steps/sql/tables")
    check("sql.SqlWire", "/steps/sql?q=SELECT id, name, NULL, true FROM tracks")
    check("sql.SqlWire", "/steps/sql?q=SELECT nothing")
    check("sql.SqlSliceWire", "/steps/sql/slice?correlation=1")
    wrong = sorted(checker.problems) + [f"no answer has {what}" for what in sorted(checker.unseen())]
    assert not wrong, "\n".join(["", *wrong])


def rewrites(check: Any) -> None:
    check("capture.ContextsWire", "/hand/contexts")
    check("capture.ContextWire", "/hand/contexts/0")
    check("capture.ContextWire", "/hand/contexts/1")
    check("capture.StepsWire", "/hand/steps")
    check("capture.MatchesWire", "/hand/steps/0/matches")
    check("capture.MatchWire", "/hand/steps/0/matches/1")
    check("capture.MatchGroupsWire", "/hand/steps/0/groups")
    graph = check("graph.GraphWire", "/hand/steps/0/graph?match=1")
    check("graph.GraphWire", "/hand/steps/0/graph?match=1&from=0.0")
    check("capture.BirthsWire", "/hand/steps/0/births?match=1")
    check("capture.HistoryWire", f"/hand/steps/0/history?identity={graph['identity'][0]}&match=1")
    check("capture.NodeWire", "/hand/nodes/0")
    named = check("capture.StepsWire", "/passes/steps")
    for step, context in zip(named["id"], named["context"], strict=True):
        check("capture.PassesWire", f"/passes/contexts/{context}/passes")
        check("capture.DecisionsWire", f"/passes/steps/{step}/decisions")
        check("capture.MatchesWire", f"/passes/steps/{step}/matches")
        check("graph.GraphWire", f"/passes/steps/{step}/graph?match=0")
    check("code.CodeWire", "/hand/code")
    check("code.ArtifactWire", "/hand/artifacts/0")
    check("code.RunsWire", "/hand/contexts/1/runs")
    check("search.SearchWire", "/hand/search?q=r_16")
    check("search.SearchWire", "/hand/search?q=r_16_5")
    check("search.SearchWire", "/hand/search?q=/(/")


def compiled(check: Any) -> None:
    """What only the real compiler leaves."""
    contexts = check("capture.ContextsWire", "/real/contexts")
    steps = check("capture.StepsWire", "/real/steps")
    step = next(i for i, matches in zip(steps["id"], steps["matches"], strict=True) if matches > 0)
    check("capture.MatchWire", f"/real/steps/{step}/matches/1")
    check("schedule.SchedulesWire", "/real/schedules")
    for i, kind in zip(contexts["id"], contexts["kind"], strict=True):
        if kind == "schedule":
            found = check("schedule.ScheduleWire", f"/real/contexts/{i}/schedule")
            for a, b, _, _ in found["edges"]:
                check("schedule.WhyWire", f"/real/contexts/{i}/why?a={a}&b={b}")
        elif kind == "kernel":
            check("code.OriginWire", f"/real/contexts/{i}/origin")
            check("code.LinesWire", f"/real/contexts/{i}/lines?operations=1")
            check("code.LinesWire", f"/real/contexts/{i}/lines")


def compare(check: Any) -> None:
    below = "/real/compare/other"
    check("compare.CompareWire", "/left/compare/right")
    names = [row["name"] for row in check("compare.CompareWire", below)["kernels"]]
    for name in names:
        check("compare.KernelPairWire", f"{below}/kernel?name={name.replace('#', '%23')}")
    check("compare.CurvesWire", f"{below}/memory")
    check("compare.BothCallsWire", f"{below}/calls")
    window = f"a0=0&a1={1 << 60}&b0=0&b1={1 << 60}&pixels=100"
    check("compare.BothWindowsWire", f"{below}/window?{window}&moments=1&kernel={names[0].replace('#', '%23')}")


def timeline(check: Any) -> None:
    whole = check("timeline.TimelineWire", "/steps/timeline")
    names = check("timeline.NamesWire", "/steps/timeline/names?first=0")
    times = f"t0=0&t1={60 * MS}"
    check("timeline.WindowHead", f"/steps/timeline/window?{times}&px=500&lanes=3:0")
    check("timeline.SeriesHead", f"/steps/timeline/series?{times}&px=500&counters=7&memory=CPU")
    check("timeline.OverviewHead", "/steps/timeline/overview?px=100")
    check("ranks.HeatHead", "/run/ranks")
    check("ranks.StepWire", "/run/ranks/step?step=1")
    check("ranks.StepsWire", "/run/ranks/steps?first=0&last=3")
    check("ranks.RankPlaceWire", "/run/ranks/rank?rank=2&step=1")
    for row in range(whole["slices"]):
        check("timeline.SliceWire", f"/steps/timeline/slice?row={row}")
        check("timeline.LinksWire", f"/steps/timeline/links?row={row}")
        if row > 40:
            break
    check("timeline.FlowsWire", f"/steps/timeline/flows?{times}&most=400")
    check("timeline.RangeWire", f"/steps/timeline/range?{times}")
    check("timeline.GapsWire", f"/steps/timeline/gaps?{times}")
    check("timeline.HitsWire", "/steps/timeline/search?q=r_16&from=0")
    check("top.TopWire", "/steps/top")
    check("calls.CallsWire", "/steps/calls?thread=TINY")
    check("calls.CallsWire", "/steps/calls?thread=*&mode=inverted&q=linearize")
    check("calls.CallSlicesWire", f"/steps/calls/slices?thread=TINY&name={names['text'].index('simplify ranges')}")
    check("top.RunsWire", f"/steps/top/runs?name={names['text'].index('E_16384_4')}&group=kernels")


def memory(check: Any) -> None:
    found = check("memory.MemoryWire", "/steps/memory")
    device = found["devices"][0]["name"]
    check("memory.AliveWire", f"/steps/memory/alive?device={device}&time={10 * MS}")
    check("memory.MemoryHead", f"/steps/memory/window?device={device}&t0=0&t1={60 * MS}&px=100&v0=0&v1={60 * MS}")
    for buffer in (1, 2, 3):
        check("memory.BufferWire", f"/steps/memory/buffers/{buffer}")


def tape(check: Any, get: Any) -> None:
    check("tape.TapeWire", "/tape/tape")
    check("tape.TapeHead", "/tape/tape/window?t0=0&t1=4000000000&v0=0&v1=4000000000&per=4000000")
    check("tape.TapeRangeWire", "/tape/tape/range?t0=1000000000&t1=2000000000")
    messages = check("tape.MessagesWire", "/tape/tape/messages?first=0&count=50")
    for seq in messages["seq"]:
        check("tape.MessageWire", f"/tape/tape/messages/{seq}")


def hardware(check: Any, get: Any, checker: Checker) -> None:
    entries = get("/hw/hardware")["entries"]
    for entry in entries:
        checker.check(entry, {"is": "interface", "name": "hardware.HardwareEntry"}, "hardware.HardwareEntry")
    trace = f"/hw/hardware/{next(entry['row'] for entry in entries if entry['kind'] == 'sqtt')}"
    check("hardware.TraceWire", trace)
    check("hardware.OccupancyWire", f"{trace}/occupancy")
    check("hardware.InstructionsWire", f"{trace}/instructions")
    check("hardware.FlowWire", f"{trace}/flow")
    check("hardware.CodeFlowWire", "/hw/artifacts/0/flow")
    check("hardware.CountersWire", "/hw/hardware/counters")
    check("hardware.WindowHead", f"{trace}/window?t0=0&t1=5000&px=500&lanes=0")
    check("hardware.EventWire", f"{trace}/events/0")
    sampled = next(entry["row"] for entry in entries if entry["kind"] == "pma")
    check("stalls.StallsHead", f"/hw/hardware/{sampled}/stalls")
