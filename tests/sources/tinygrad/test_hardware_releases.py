"""SQTT and PMC events in the class layouts of each release that had them, as its own pickle."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from peephole.ingest import import_files
from peephole.query.hardware.traces import content, counters, entries
from peephole.store.capture import open_capture

LAYOUTS = {
    "0.11": {
        "ProfileDeviceEvent": "device comp_tdiff copy_tdiff", "ProfileProgramEvent": "device name lib base",
        "ProfileSQTTEvent": "device se blob itrace",
    },
    "0.12": {
        "ProfileDeviceEvent": "device comp_tdiff copy_tdiff props", "ProfileProgramEvent": "device name lib base",
        "ProfileSQTTEvent": "device kern se blob itrace exec_tag",
        "PMCSample": "name block xcc inst se sa wgp off size regsample",
        "ProfilePMCEvent": "device kern sched blob exec_tag",
    },
    "0.13": {
        "ProfileDeviceEvent": "device tdiff props", "ProfileProgramEvent": "device name lib base tag",
        "ProfileSQTTEvent": "device kern se blob itrace exec_tag",
        "PMCSample": "name block xcc inst se sa wgp off size regsample",
        "ProfilePMCEvent": "device kern sched blob exec_tag",
    },
    "0.14": {
        "ProfileDeviceEvent": "device tdiff props", "ProfileProgramEvent": "device name lib base tag profile_key",
        "ProfileSQTTEvent": "device kern se blob itrace exec_tag",
        "PMCSample": "name block xcc inst se sa wgp off size regsample",
        "ProfilePMCEvent": "device kern sched blob exec_tag",
    },
}  # fmt: skip
"""Fields of the events, release by release."""

WRITER = """
import decimal, dataclasses, pickle, struct, sys
import tinygrad.device as device, tinygrad.runtime.ops_amd as amd

def make(kind, /, **values):
    cls = getattr(device, kind, None) or getattr(amd, kind)
    return cls(**{field.name: values.get(field.name) for field in dataclasses.fields(cls)})

elf = b"\\x7fELF\\x02" + bytes(13) + struct.pack("<H", 224) + bytes(28) + struct.pack("<I", 0x41) + bytes(12)
kernel = "gemm" if sys.argv[2] == "0.12" else 7
zero = decimal.Decimal(0)
events = [make("ProfileDeviceEvent", device="AMD", comp_tdiff=zero, copy_tdiff=zero, tdiff=zero,
               props={"gfx_target_version": 110000}),
          make("ProfileProgramEvent", device="AMD", name="gemm", lib=elf, base=4096, tag=7)]
for run in range(2):
    events += [make("ProfileSQTTEvent", device="AMD", kern=kernel, se=se, blob=bytes([run, se]) * 16, itrace=se == 0,
                    exec_tag=run + 5) for se in range(2)]
    if hasattr(amd, "PMCSample"):
        sample = make("PMCSample", name="SQ_WAVES", block="SQ", xcc=1, inst=1, se=2, sa=1, wgp=2, off=0, size=32)
        events.append(make("ProfilePMCEvent", device="AMD", kern=kernel, sched=[sample],
                           blob=struct.pack("<4Q", 1, 2, 3, 4 + run), exec_tag=run + 5))
pickle.dump(events, open(sys.argv[1], "wb"))
"""


def write(folder: Path, release: str) -> Path:
    """A pickle that a program wrote with classes of these names and fields."""
    package = folder / "classes"
    (package / "tinygrad" / "runtime").mkdir(parents=True)
    for module, names in (("device", ("Device", "Program")), ("runtime/ops_amd", ("SQTT", "PMC"))):
        text = "import dataclasses\n"
        for name, fields in LAYOUTS[release].items():
            if any(part in name for part in names):
                listed = [(field, "object") for field in fields.split()]
                text += f"{name} = dataclasses.make_dataclass({name!r}, {listed!r}, frozen=True)\n"
                text += f"{name}.__module__ = __name__\n"
        (package / "tinygrad" / f"{module}.py").write_text(text)
    for init in ("tinygrad", "tinygrad/runtime"):
        (package / init / "__init__.py").write_text("")
    path = folder / f"profile-{release}.pkl"
    subprocess.run([sys.executable, "-c", WRITER, str(path), release], check=True, env={"PYTHONPATH": str(package)})
    return path


@pytest.mark.parametrize("release", list(LAYOUTS))
def test_events_of_every_release(release: str, tmp_path: Path, capture_dir: Any) -> None:
    capture = open_capture(import_files([write(tmp_path, release)]))
    found = entries(capture)
    traces = [entry for entry in found if entry.kind == "sqtt"]
    assert [(entry.source, entry.arch) for entry in traces] == [
        (f"gemm{run} SQTT SE:{se} PKTS", "gfx1100") for run in ("", " n2") for se in range(2)
    ]
    assert [content(capture, entry)[:2] for entry in traces] == [
        bytes([run, se]) for run in range(2) for se in range(2)
    ]
    assert [entry.props["itrace"] for entry in traces] == [True, False] * 2
    values = [counters(capture, entry)[0].total for entry in found if entry.kind == "pmc"]
    assert values == ([] if release == "0.11" else [10, 11])
    assert capture.manifest.problems == []
