"""What a slice of a rank is, by its name: communication, a step, an operator. Names are looked at once each."""

from __future__ import annotations

import re
from typing import Final

_COMMUNICATION: Final = re.compile(
    r"^(?:gloo|nccl|rccl|mpi|ucc|xccl|hccl):|^(?:void )?(?:nccl|rccl)(?:Symk?)?(?:Dev)?Kernel|"
    r"^(?:all[-_ ]?(?:reduce|gather|to[-_ ]?all)|reduce[-_ ]?scatter|collective[-_ ]?permute)(?:[-_.]|\b|$)",
    re.I,
)
_CALL: Final = re.compile(r"^c10d::")
_STEP: Final = re.compile(
    r"^ProfilerStep#(\d+)$|^(?:train(?:ing)?[ _]?)?(?:step|iteration)[ #_:]*(\d+)$|^train @ (\d+)$", re.I
)
_WAITS_FOR_ALL: Final = re.compile(
    r"all[-_ ]?reduce|all[-_ ]?gather|reduce[-_ ]?scatter|barrier|all[-_ ]?to[-_ ]?all(?!v)", re.I
)
_ONE_SIDED: Final = re.compile(r"broadcast|send|recv|all[-_ ]?to[-_ ]?all[-_ ]?v", re.I)
_BETWEEN_TWO: Final = re.compile(r"^\w+:(?:send|recv)", re.I)
_KERNEL: Final = re.compile(r"^(?:void )?(?:nccl|rccl)(?:Symk?)?(?:Dev)?Kernel_?([A-Za-z]+)")


def is_communication(name: str) -> bool:
    """Whether a slice is the work of a collective, not the call that asks for it."""
    return _COMMUNICATION.search(name) is not None


def is_call(name: str) -> bool:
    """Whether a slice is the call that asks for a collective."""
    return _CALL.search(name) is not None


def is_operator(name: str) -> bool:
    """Whether a slice on a host's thread computes: an operator of a framework, not a range that the user named."""
    return "::" in name and not is_call(name) and not name.startswith(("ProfilerStep", "Optimizer."))


def step_number(name: str) -> int:
    """The number of a training step, -1 for a slice that is none."""
    found = _STEP.search(name)
    return int(next(part for part in found.groups() if part)[:15]) if found else -1


def is_between_two(name: str) -> bool:
    """Whether it is a send or receive of two ranks, which the others of their group know nothing of."""
    return _BETWEEN_TWO.search(name) is not None


SEND_RECEIVE: Final = "nccl:send_recv"
"""What a send and its receive are together."""


def is_send(name: str) -> bool:
    """Whether it is the sending side of the two."""
    return name.lower().endswith(":send")


def is_receive(name: str) -> bool:
    """Whether it is the receiving side of the two."""
    return name.lower().endswith(":recv")


def makes_all_wait(name: str) -> bool:
    """Whether no rank can end such a collective before the last has begun it."""
    return _WAITS_FOR_ALL.search(name) is not None and _ONE_SIDED.search(name) is None


def plain_name(name: str) -> str:
    """A collective's name without what differs between its kernels: `ncclDevKernel_AllReduce_Sum` is an AllReduce."""
    found = _KERNEL.search(name)
    return f"nccl:{found[1]}" if found else name
