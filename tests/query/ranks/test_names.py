"""What a slice of a rank is, by the names that libraries write."""

from __future__ import annotations

import pytest

from peephole.query.ranks.names import is_communication, makes_all_wait, plain_name

ARGS = "(ncclDevKernelArgsStorage<4096ul>)"


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL" + ARGS, "nccl:AllReduce"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "nccl:AllReduce"),
        ("ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)", "nccl:AllReduce"),
        ("ncclSymkDevKernel_ReduceScatter_LL_sum_f32(ncclSymkDevWorkArgs4K)", "nccl:ReduceScatter"),
        ("ncclDevKernel_SendRecv" + ARGS, "nccl:SendRecv"),
        ("gloo:all_reduce", "gloo:all_reduce"),
    ],
)
def test_a_collective_is_known_by_its_kernel(name: str, plain: str) -> None:
    assert is_communication(name) and plain_name(name) == plain


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("nccl:allreduce", True),
        ("nccl:_allgather_base", True),
        ("nccl:_reduce_scatter_base", True),
        ("nccl:reduce_scatter_tensor_coalesced", True),
        ("c10d::reduce_scatter_", True),
        ("nccl:ReduceScatter", True),
        ("nccl:all_to_all", True),
        ("gloo:barrier", True),
        ("nccl:all_to_allv", False),
        ("nccl:broadcast", False),
        ("nccl:send", False),
        ("nccl:SendRecv", False),
        ("gloo:scatter", False),
        ("nccl:reduce", False),
    ],
)
def test_what_no_rank_can_end_before_the_last_has_come(name: str, waits: bool) -> None:
    assert makes_all_wait(name) is waits
