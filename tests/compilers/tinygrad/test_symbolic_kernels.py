"""An LLM's decode with a symbolic position: its kernels have names and lead to their compilation like all others."""

from __future__ import annotations

import json

import pytest
from tests.sources.tinygrad.runs import under_peephole, under_viz

from peephole.cli.main import main
from peephole.compilers.tinygrad.calls import called_context
from peephole.compilers.tinygrad.schedule import schedule_contexts, split
from peephole.compilers.traces import trace_of
from peephole.store.capture import Capture

DECODE = """
from tinygrad import Tensor, TinyJit, Variable, nn
DIM, HEADS, MOST, WORDS = 16, 2, 32, 24

class Block:
    def __init__(self):
        self.qkv, self.out, self.norm = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM), nn.RMSNorm(DIM)
        self.cache = Tensor.zeros(2, 1, MOST, HEADS, DIM // HEADS).contiguous().realize()

    def __call__(self, x, start_pos):
        qkv = self.qkv(self.norm(x)).reshape(1, 1, 3, HEADS, DIM // HEADS)
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        self.cache[:, :, start_pos:start_pos + 1].assign(Tensor.stack(k, v)).realize()
        keys, values = self.cache[0, :, 0:start_pos + 1], self.cache[1, :, 0:start_pos + 1]
        seen = q.transpose(1, 2).scaled_dot_product_attention(keys.transpose(1, 2), values.transpose(1, 2))
        return x + self.out(seen.transpose(1, 2).reshape(1, 1, DIM))

words, blocks, head = nn.Embedding(WORDS, DIM), [Block(), Block()], nn.Linear(DIM, WORDS, bias=False)

@TinyJit
def step(token, start_pos):
    x = words(token)
    for block in blocks: x = block(x, start_pos)
    return head(x)[:, -1].argmax(-1).realize()

token = Tensor([[3]])
for position in range(1, 6):
    token = step(token.contiguous().realize(), Variable("start_pos", 1, MOST - 1).bind(position)).reshape(1, 1)
"""


@pytest.fixture(scope="module", params=["live", "pickles"])
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Capture:
    folder = tmp_path_factory.mktemp("decode") / "run"
    return (under_peephole if request.param == "live" else under_viz)(folder, DECODE, "NULL")


def test_every_kernel_of_every_schedule_has_its_name(capture: Capture) -> None:
    names = trace_of(capture).context_names
    symbolic = 0
    for context, _ in schedule_contexts(capture):
        for kernel in split(capture, context).schedule.kernels:
            if kernel.kind == "kernel":
                assert kernel.context >= 0 and kernel.name == names[kernel.context], kernel
                symbolic += "start_pos" in kernel.name
    assert symbolic >= 10


def test_every_run_leads_to_its_kernel(capture: Capture) -> None:
    contexts, slices, tracks = (capture.read(table) for table in ("contexts", "slices", "tracks"))
    names = {int(contexts["id"][i]): contexts.texts("name")[i] for i in range(len(contexts))}
    device = {int(tracks["id"][i]) for i in range(len(tracks)) if tracks.texts("kind")[i] == "device"}
    ran = [i for i in range(len(slices)) if int(slices["track"][i]) in device]
    assert all(names.get(int(slices["context"][i])) == slices.texts("name")[i] for i in ran)
    assert sum("(start_pos+1)" in (slices.texts("name")[i] or "") for i in ran) >= 25


def test_the_origin_of_a_symbolic_kernel(capture: Capture, capsys: pytest.CaptureFixture[str]) -> None:
    name = next(text for text in capture.read("contexts").texts("name") if text and "(start_pos+1)" in text)
    assert main(["origin", name, "--json", str(capture.path)]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found and all(one["kernel"] == name for one in found)


def test_a_call_in_a_graph_leads_to_the_compilation(capture: Capture) -> None:
    trace = trace_of(capture)
    names = trace.context_names
    followed = 0
    for context, row in trace.steps_named("View Kernel Graph"):
        made = split(capture, context)
        for kernel in made.schedule.kernels:
            if kernel.kind == "kernel":
                found = called_context(capture, trace.number("id", row), kernel.node)
                assert names.get(found) == kernel.name
                followed += "start_pos" in kernel.name
    assert followed >= 5
