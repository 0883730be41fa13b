"""The names of tinygrad 0.14's passes, as they stand in a trace."""

from __future__ import annotations

from typing import Final

TENSORS: Final = "View Tensor Graph"
NUMBER: Final = "number the uops"
TRANSFORM: Final = "early transform tensor graph"
FINALIZE: Final = "finalize call"
REPLACE: Final = "replace bufs"
CALL: Final = "View Call"
LINEAR: Final = "schedule to linear"
KERNELIZE: Final = "get_kernel_graph"
MULTI: Final = "multi_pm"
EARLIEST: Final = "earliest rewrites"
COPY: Final = "convert copy to store"
RANGEIFY: Final = "run_rangeify"
APPLY: Final = "apply rangeify"
DEVICE: Final = "add device to deviceless"
SYMBOLIC: Final = "symbolic+reduce_collapse+debuf"
LIMIT: Final = "limit buffers"
STORES: Final = "stage to store"
SPLIT: Final = "split kernels"
INDEXING: Final = "remove indexing from call args"
KERNELS: Final = "View Kernel Graph"
BIND: Final = "resolve scalar params"
"""Over each kernel of a call, and each of its arguments: `p3`, as a schedule calls a variable, becomes `start_pos`."""
CALLIFY_PASSES: Final = (NUMBER, TRANSFORM, FINALIZE, REPLACE)
SCHEDULE_PASSES: Final = (MULTI, EARLIEST, COPY, APPLY, DEVICE, SYMBOLIC, LIMIT, STORES)
AST: Final = "View Base AST"
PROGRAM: Final = "View Program"
"""The last step of a compilation: the program with its list of ops, source and binary."""
