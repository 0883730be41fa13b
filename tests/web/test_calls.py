"""From a call in any graph to the kernel that it became."""

from __future__ import annotations

import json
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Served, Shown

pytestmark = pytest.mark.browser


def api(served: Served, path: str) -> Any:
    with urllib.request.urlopen(f"{served.address}api/v1/captures/small/{path}") as answer:
        return json.load(answer)


def steps_named(served: Served, name: str, kind: str) -> list[tuple[int, int]]:
    """Steps of that name in contexts of a kind: id and matches."""
    steps, contexts = api(served, "steps"), api(served, "contexts")
    kinds = dict(zip(contexts["id"], contexts["kind"], strict=True))
    rows = zip(steps["id"], steps["context"], steps["name"], steps["matches"], strict=True)
    return [(i, m) for i, c, n, m in rows if steps["names"][n] == name and kinds[c] == kind]


def calls(served: Served, step: int, match: int) -> list[tuple[int, int, int]]:
    """Calls of a graph that lead somewhere: identity, node, context."""
    graph = api(served, f"steps/{step}/graph?match={match}")
    found = []
    for at, op in enumerate(graph["op"]):
        if graph["ops"][op] in ("CALL", "PROGRAM"):
            context = api(served, f"steps/{step}/call?node={graph['id'][at]}")["context"]
            if context >= 0:
                found.append((graph["identity"][at], graph["id"][at], context))
    return found


@pytest.mark.parametrize(
    ("name", "kind", "after"),
    [
        ("View Kernel Graph", "schedule", False),
        ("split kernels", "schedule", True),
        ("schedule to linear", "schedule", True),
        ("View Call", "callify", False),
    ],
)
def test_calls_of_every_pass_lead_to_what_they_became(view: Shown, name: str, kind: str, after: bool) -> None:
    contexts = api(view.served, "contexts")
    kinds = dict(zip(contexts["id"], contexts["kind"], strict=True))
    found = 0
    for step, matches in steps_named(view.served, name, kind):
        for _, _, context in calls(view.served, step, matches if after else 0):
            assert kinds[context] == ("schedule" if kind == "callify" else "kernel")
            found += 1
    assert found >= 3


def test_double_click_link_and_key_open_the_kernel(view: Shown) -> None:
    step = max(steps_named(view.served, "View Kernel Graph", "schedule"))[0]
    identity, _, context = calls(view.served, step, 0)[0]
    place = f"#/small/rewrites?step={step}&node={identity}"
    page = view.page
    view.open(place)
    link = page.locator(".node .called a")
    link.wait_for()
    contexts = api(view.served, "contexts")
    assert link.inner_text() == contexts["name"][contexts["id"].index(context)]
    link.click()
    view.wait_shown(f"context/{context}")
    page.go_back()
    view.wait_shown(f"{step}/0")
    page.keyboard.press("o")
    view.wait_shown(f"context/{context}")
    page.go_back()
    view.wait_shown(f"{step}/0")
    box = next(box for box in view.boxes() if box["key"] == identity)
    page.mouse.dblclick(box["px"], box["py"])
    view.wait_shown(f"context/{context}")


def test_a_node_that_calls_nothing_says_so(rewrites: Shown) -> None:
    rewrites.page.keyboard.press("o")
    rewrites.until("() => document.querySelector('.bar.low').innerText.includes('Select a call')")
