"""Execution traces: torch's own observer, Chakra's messages, and a profile recorded beside them."""

from __future__ import annotations

import gzip
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.capture_rows import rows

from peephole.errors import CaptureError
from peephole.ingest import import_files
from peephole.store.capture import Capture, open_capture

SHARED = Path(__file__).resolve().parents[3] / "shared" / "fixtures" / "formats"
PROGRAM = """
import sys
import torch
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
sgd = torch.optim.SGD(net.parameters(), lr=0.1)
observer = ExecutionTraceObserver().register_callback(sys.argv[1])
with profile(activities=[ProfilerActivity.CPU], record_shapes=True, execution_trace_observer=observer) as trace:
    for _ in range(2):
        sgd.zero_grad()
        x = torch.randn(4, 8)
        torch.cat([net(x), net(x)]).sum().backward()
        sgd.step()
trace.export_chrome_trace(sys.argv[2])
"""


@pytest.fixture(scope="session")
def observed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An execution trace and a profile of one run of a real program."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("observed")
    files = folder / "et.json", folder / "kineto.json"
    subprocess.run([sys.executable, "-c", PROGRAM, *map(str, files)], check=True, timeout=250)
    return files


def imported(folder: Path, *files: Path) -> Capture:
    return open_capture(import_files(list(files), folder / "c.peep"))


def operators_of(path: Path) -> dict[int, dict[str, Any]]:
    """The operators of a trace by number, read again without any of the importer's code."""
    nodes = json.loads(path.read_text())["nodes"]
    return {node["id"]: node for node in nodes if not node["name"].startswith("[pytorch|profiler|execution_trace|")}


def attribute(node: dict[str, Any], name: str) -> Any:
    return next(attr["value"] for attr in node["attrs"] if attr["name"] == name)


def number_in(name: str) -> int:
    return int(name.rpartition("_")[2])


def check_trace(capture: Capture, truth: dict[int, dict[str, Any]]) -> None:
    nodes = rows(capture, "nodes")
    by_id = {node["id"]: node for node in nodes}
    own = {number_in(node["name"]): node for node in nodes if node["op"] not in ("GRAPH", "tensor")}
    assert {number: node["op"] for number, node in own.items()} == {n: node["name"] for n, node in truth.items()}
    for number, node in truth.items():
        shapes = [shape for shape, kind in zip(node["outputs"]["shapes"], node["outputs"]["types"], strict=True)
                  if kind.startswith("Tensor")]  # fmt: skip
        if shapes:
            assert own[number]["shape"] == str(tuple(shapes[0]))
        # what it calls is in its body, and nothing else is
        bodies = [by_id[one] for one in own[number]["src"] if by_id[one]["op"] == "GRAPH"]
        inside = {
            number_in(by_id[one]["name"]) for body in bodies for one in body["src"] if by_id[one]["op"] != "tensor"
        }
        assert inside == {n for n, other in truth.items() if other["ctrl_deps"] == number}
    for node in nodes:
        assert all(source < node["id"] for source in node["src"])
    check_flow(own, by_id, truth)


def check_flow(own: dict[int, Any], by_id: dict[int, Any], truth: dict[int, dict[str, Any]]) -> None:
    """Every operator reads the last one beside it, or around it, that gave its tensor back; in-place ones included."""

    def around(number: int) -> list[int]:
        found = [number]
        while truth[found[-1]]["ctrl_deps"] in truth:
            found.append(truth[found[-1]]["ctrl_deps"])
        return found

    def given(values: dict[str, Any]) -> list[tuple[int, int]]:
        return [tuple(value[:2]) for value, kind in zip(values["values"], values["types"], strict=True)
                if kind.startswith("Tensor(")]  # fmt: skip

    checked = 0
    for number, node in truth.items():
        for tensor in given(node["inputs"]):
            earlier = [
                n for n in truth if n < number and n not in around(number) and tensor in given(truth[n]["outputs"])
            ]
            makers = [n for n in earlier if truth[n]["ctrl_deps"] in [*around(number), node["ctrl_deps"]]]
            if not makers or (max(earlier) > max(makers) and max(makers) not in around(max(earlier))):
                continue
            expected = own[max(makers)]["id"]
            assert expected in own[number]["src"], (node["name"], number, tensor)
            checked += 1
    assert checked > len(truth) / 4


def test_what_torchs_observer_wrote_is_a_graph_of_its_operators(observed: tuple[Path, Path], tmp_path: Path) -> None:
    capture = imported(tmp_path, observed[0])
    assert not capture.manifest.problems
    (context,) = rows(capture, "contexts")
    (step,) = rows(capture, "steps")
    assert (context["kind"], context["compiler"], step["root"]) == ("graph", "chakra", step["after"])
    check_trace(capture, operators_of(observed[0]))


def test_the_profile_beside_it_gives_every_slice_its_operator(observed: tuple[Path, Path], tmp_path: Path) -> None:
    trace, profile = observed
    truth = operators_of(trace)
    by_record = {attribute(node, "rf_id"): n for n, node in truth.items()}
    for order in ((trace, profile), (profile, trace)):
        folder = tmp_path / order[0].name
        folder.mkdir()
        capture = imported(folder, *order)
        nodes = {node["id"]: node for node in rows(capture, "nodes")}
        linked = [one for one in rows(capture, "slices") if one["context"] >= 0]
        assert {json.loads(one["args"])["Record function id"] for one in linked} == set(by_record)
        for one in linked:
            args = json.loads(one["args"])
            node = nodes[args["node"]]
            assert (node["op"], number_in(node["name"])) == (one["name"], by_record[args["Record function id"]])
            assert ("inside" in args) == (truth[number_in(node["name"])]["ctrl_deps"] in truth)
            assert node["tag"]
        assert not capture.manifest.problems


def test_a_profile_of_another_run_is_said(observed: tuple[Path, Path], tmp_path: Path) -> None:
    other = json.loads(observed[1].read_text())
    for event in other["traceEvents"]:
        if "Record function id" in event.get("args", {}):
            event["args"]["Record function id"] += 1
    path = tmp_path / "other.json"
    path.write_text(json.dumps(other))
    capture = imported(tmp_path, observed[0], path)
    assert any("different runs" in one["reason"] for one in capture.manifest.problems)


def test_the_shared_trace_and_its_profile(tmp_path: Path) -> None:
    files = SHARED / "torch_execution_trace.json", SHARED / "torch_execution_trace.kineto.json"
    if not files[0].exists():
        pytest.skip("needs ../shared/fixtures/formats/torch_execution_trace.json beside the repository")
    capture = imported(tmp_path, *files)
    check_trace(capture, operators_of(files[0]))
    assert sum(one["context"] >= 0 for one in rows(capture, "slices")) == 228


def test_a_trace_that_is_cut_off_anywhere(observed: tuple[Path, Path], tmp_path: Path) -> None:
    data = observed[0].read_bytes()
    for part in (0.2, 0.5, 0.97):
        folder = tmp_path / str(part)
        folder.mkdir()
        (folder / "et.json.gz").write_bytes(gzip.compress(data[: int(len(data) * part)]))
        capture = imported(folder, folder / "et.json.gz")
        assert capture.count("nodes") > 0
        assert any("cut off" in one["reason"] for one in capture.manifest.problems)


def small_trace() -> dict[str, Any]:
    """A trace of three operators in torch's form, by hand, and a profile of it: what mutants are made of."""

    def node(number: int, name: str, parent: int, given: list[Any], back: list[Any]) -> dict[str, Any]:
        attrs = [{"name": "rf_id", "type": "uint64", "value": number}, {"name": "seq_id", "type": "int64", "value": 0},
                 {"name": "scope", "type": "uint64", "value": number % 2}]  # fmt: skip
        tensors = [{"values": part, "shapes": [[4, 8]] * len(part), "types": ["Tensor(float)"] * len(part)}
                   for part in (given, back)]  # fmt: skip
        deps = {"id": number, "name": name, "ctrl_deps": parent, "attrs": attrs}
        return {**deps, "inputs": tensors[0], "outputs": tensors[1]}

    nodes = [node(3, "aten::t", 2, [[7, 8, 0, 32, 4, "cpu"]], [[9, 8, 0, 32, 4, "cpu"]]),
             node(2, "aten::linear", 1, [[7, 8, 0, 32, 4, "cpu"]], [[10, 11, 0, 32, 4, "cpu"]]),
             node(4, "aten::relu_", 1, [[10, 11, 0, 32, 4, "cpu"]], [[10, 11, 0, 32, 4, "cpu"]])]  # fmt: skip
    events = [{"ph": "X", "cat": "cpu_op", "name": one["name"], "pid": 1, "tid": 1, "ts": one["id"], "dur": 1,
               "args": {"External id": one["id"], "Record function id": one["id"]}} for one in nodes]  # fmt: skip
    return {
        "et.json": {"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": nodes},
        "trace.json": {"traceEvents": events},
    }


def field(number: int, value: int | str | bytes) -> bytes:
    """A field of a protocol buffer."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes((value & 0x7F | 0x80,))
        value >>= 7
    return out + bytes((value,))


def chakra_nodes() -> list[dict[str, Any]]:
    """Two layers of a ring: compute, then a collective that waits for it."""
    made = []
    for layer in range(3):
        made.append({"id": 2 * layer + 1, "name": f"GEMM_{layer}", "type": 4, "start": 10 * layer + 5, "dur": 4,
                     "data": [2 * layer] if layer else [], "ctrl": []})  # fmt: skip
        made.append({"id": 2 * layer + 2, "name": f"ring_{layer}", "type": 7, "start": 10 * layer + 9, "dur": 6,
                     "data": [2 * layer + 1], "ctrl": [1], "comm_type": 0, "comm_size": 4096})  # fmt: skip
    return made


VERSION = field(1, "0.0.4") + field(2, field(1, "scale") + varint(3 << 3 | 1) + struct.pack("<d", 2.5))
CONVERTED = field(2, field(1, "schema") + field(29, "1.0.2-chakra.0.0.4")) + field(2, field(1, "pid") + field(13, 77))
"""What Chakra's converters begin with: attributes, and no version."""


def chakra_bytes(first: bytes = VERSION) -> bytes:
    """The same as Chakra's feeder reads it: each message behind its length."""
    messages = [first]
    for node in chakra_nodes():
        message = field(1, node["id"]) + field(2, node["name"]) + field(3, node["type"])
        if node["ctrl"]:
            message += field(4, b"".join(map(varint, node["ctrl"])))
        for dep in node["data"]:  # not packed, as other writers do
            message += field(5, dep)
        message += field(6, node["start"]) + field(7, node["dur"])
        message += field(9, field(1, "[]") + field(2, "[[8, 16]]") + field(3, "['Tensor(float)']"))
        if "comm_type" in node:
            message += field(10, field(1, "comm_type") + field(9, node["comm_type"]))
            message += field(10, field(1, "comm_size") + field(9, node["comm_size"]))
        messages.append(message)
    return b"".join(varint(len(message)) + message for message in messages)


def chakra_json() -> str:
    """The same as Chakra's jsonizer prints it: objects one after the other, long numbers as texts."""
    out = [json.dumps({"version": "0.0.4"}, indent=2)]
    for node in chakra_nodes():
        attr = [{"name": name, "int64Val": str(node[name])} for name in ("comm_type", "comm_size") if name in node]
        out.append(json.dumps({
            "id": str(node["id"]), "name": node["name"], "type": {4: "COMP_NODE", 7: "COMM_COLL_NODE"}[node["type"]],
            "ctrlDeps": [str(dep) for dep in node["ctrl"]], "dataDeps": [str(dep) for dep in node["data"]],
            "startTimeMicros": str(node["start"]), "durationMicros": str(node["dur"]), "attr": attr,
            "outputs": {"values": "[]", "shapes": "[[8, 16]]", "types": "['Tensor(float)']"},
        }, indent=2))  # fmt: skip
    return "\n".join(out)


def chakra_list() -> bytes:
    """The same as JSON for Chakra's feeder, which has no starts."""
    nodes = []
    for one in chakra_nodes():
        node: dict[str, Any] = {"Id": one["id"], "Name": one["name"], "NodeType": one["type"], "ctrlDeps": one["ctrl"]}
        node |= {"data_deps": one["data"], "runtime": one["dur"], "is_cpu_op": True}
        node |= {name: one[name] for name in ("comm_type", "comm_size") if name in one}
        nodes.append(node)
    return json.dumps({"workload_graph": nodes}, indent=4).encode()


def test_json_of_chakras_feeder_is_the_graph_with_durations(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(chakra_list())
    capture = imported(tmp_path, tmp_path / "x")
    nodes = {node["id"]: node for node in rows(capture, "nodes")}
    own = {number_in(node["name"]): node for node in nodes.values() if node["op"] != "GRAPH"}
    assert {number: (node["op"], node["tag"]) for number, node in own.items()} == {
        one["id"]: (one["name"], f"{one['dur']}.00 µs") for one in chakra_nodes()
    }
    for one in chakra_nodes():
        waits = [number_in(nodes[source]["name"]) for source in own[one["id"]]["src"]]
        assert waits == list(dict.fromkeys(one["data"] + one["ctrl"]))
    assert "ALL_REDUCE" in own[2]["arg"] and "4096" in own[2]["arg"]
    assert not capture.manifest.problems


@pytest.mark.parametrize("form", ["messages", "converted", "json"])
def test_chakras_own_files_have_their_operators_times_and_dependencies(form: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    written = {"messages": chakra_bytes, "converted": lambda: chakra_bytes(CONVERTED)}
    path.write_bytes(written[form]() if form in written else chakra_json().encode())
    capture = imported(tmp_path, path)
    if form == "converted":
        assert rows(capture, "contexts")[0]["function"] == "1.0.2-chakra.0.0.4"
        assert {track["process"] for track in rows(capture, "tracks")} == {77}
    truth = {node["id"]: node for node in chakra_nodes()}
    nodes = {node["id"]: node for node in rows(capture, "nodes")}
    own = {number_in(node["name"]): node for node in nodes.values() if node["op"] != "GRAPH"}
    assert {number: node["op"] for number, node in own.items()} == {n: node["name"] for n, node in truth.items()}
    for number, node in own.items():
        waits = [number_in(nodes[source]["name"]) for source in node["src"]]
        assert waits == list(dict.fromkeys(truth[number]["data"] + truth[number]["ctrl"]))
        assert (node["dtype"], node["shape"]) == ("float", "(8, 16)")
    assert "ALL_REDUCE" in own[2]["arg"] and "4096" in own[2]["arg"]
    slices = {one["name"]: (one["start"], one["dur"]) for one in rows(capture, "slices")}
    assert slices == {n["name"]: ((n["start"] - 5) * 1000, n["dur"] * 1000) for n in truth.values()}
    assert not capture.manifest.problems


def test_odd_chakra_files_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    data = chakra_bytes()
    waiting = field(1, 1) + field(2, "a") + field(3, 4) + field(5, 2), field(1, 2) + field(2, "b") + field(5, 1)
    circle = varint(7) + field(1, "0.0.4") + b"".join(varint(len(one)) + one for one in waiting)
    for name, content, reason in (
        ("cut", data[:-30], "cut off"),
        ("circle", circle, "wait for each other"),
        ("twice", data + data[len(varint(0)) :][:0] + varint(len(waiting[0])) + waiting[0], "number of another"),
    ):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "t.et"
        path.write_bytes(content)
        capture = imported(tmp_path / name, path)
        assert [one["count"] for one in capture.manifest.problems if reason in one["reason"]] == [1], name


def test_a_trace_without_operators_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "et.json"
    path.write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": []}))
    with pytest.raises(CaptureError, match="holds no operator"):
        imported(tmp_path, path)
    assert not (tmp_path / "c.peep").exists()
