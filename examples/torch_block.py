"""Trains a transformer block under torch.compile, and takes torch's own profile of its last steps.

peephole run examples/torch_block.py
peephole why softmax relu        # why these are not one kernel
peephole origin block.py:42      # the kernels that compute a line
peephole rules                   # which rewrite rules fired, and which matched in vain
"""

from __future__ import annotations

from torch.profiler import ProfilerActivity, profile

from peephole.demo import block

block.STEPS = 4
block.main()
with profile(activities=[ProfilerActivity.CPU], profile_memory=True):  # on the timeline and in Memory
    block.main()
