"""Databases by the documented schemas of Nsight Systems and rocpd."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

GUID = "_0000a1b2_c3d4_7e5f_8a9b_0c1d2e3f4a5b"
SESSION = 1_790_000_000_000_000_000


def tid(process: int, thread: int = 0) -> int:
    """A globalTid as Nsight writes it: machine, process and thread in one number."""
    return 0x0102_0000_0000_0000 | process << 24 | thread


def fill(path: Path, tables: dict[str, tuple[str, list[tuple[Any, ...]]]]) -> Path:
    """Writes tables: their columns as SQL, and their rows."""
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        for name, (columns, rows) in tables.items():
            connection.execute(f'CREATE TABLE "{name}" ({columns})')
            marks = ",".join("?" * (columns.count(",") + 1))
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
    connection.close()
    return path


STRINGS = {
    1: "cudaLaunchKernel_v7000",
    2: "gemm<float>(int)",
    3: "gemm",
    4: "cudaMemcpyAsync_v3020",
    5: "main",
    6: "step",
}


def nsight(path: Path, steps: int = 10, first: int = 100) -> Path:
    """Two processes that launch kernels, copy, set, mark ranges, allocate; a graph; sampled metrics."""
    calls: list[Any] = []
    kernels: list[Any] = []
    copies: list[Any] = []
    sets: list[Any] = []
    ranges: list[Any] = []
    memory: list[Any] = []
    for process in (first, first + 1):
        ranges.append((5, None, 75, "library", None, tid(process, 7), 3, None))
        for step in range(steps):
            t, corr = 10_000 * step + process, step * 3 + 1
            calls.append((t, t + 500, 1, tid(process, 7), corr, 0))
            calls.append((t + 600, t + 900, 4, tid(process, 7), corr + 1, 0))
            kernels.append((t + 1000, t + 3000, 0, 1, 7 + step % 2, corr, tid(process), 2, 3, 64, 2, 1, 128, 1, 1, 40,
                            0, 4096, 77 if step == 3 else None))  # fmt: skip
            copies.append((t + 3100, t + 3500, 0, 1, 7, corr + 1, tid(process), 1 << 20, 1 + step % 2))
            ranges.append((t - 50, t + 950, 59, None, 6, tid(process, 7), 0, None))
            ranges.append((t + 10, None, 34, f"mark {step}", None, tid(process, 7), 0, 0xFF00FF00))
            ranges.append((t, t + 15_000, 60, "overlapping", None, tid(process, 7), 3, None))
            memory.append((t, tid(process), 0, 4096 * (step + 1), 512, 0, 2))
            if step % 2:
                memory.append((t + 5000, tid(process), 0, 4096 * (step + 1), 512, 1, 2))
        sets.append((t + 4000, t + 4100, 0, 1, 7, corr + 2, tid(process), 64, 0))
    timed = "start INT, end INT"
    corr_columns = "start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT"
    return fill(path, {
        "StringIds": ("id INTEGER PRIMARY KEY, value TEXT", list(STRINGS.items())),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (timed + ", nameId INT, globalTid INT, correlationId INT, returnValue INT",
                                        calls),
        "CUPTI_ACTIVITY_KIND_KERNEL": (corr_columns + ", demangledName INT, shortName INT, gridX INT, gridY INT,"
                                       "gridZ INT, blockX INT, blockY INT, blockZ INT, registersPerThread INT,"
                                       "staticSharedMemory INT,"
                                       "dynamicSharedMemory INT, graphNodeId INT", kernels),
        "CUPTI_ACTIVITY_KIND_MEMCPY": (corr_columns + ", bytes INT, copyKind INT", copies),
        "CUPTI_ACTIVITY_KIND_MEMSET": (corr_columns + ", bytes INT, value INT", sets),
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (corr_columns + ", graphId INT, graphExecId INT",
                                            [(900_000, 901_000, 0, 1, 7, 1, tid(first), 5, 6)]),
        "NVTX_EVENTS": (timed + ", eventType INT, text TEXT, textId INT, globalTid INT, domainId INT, color INT",
                        ranges),
        "CUDA_GPU_MEMORY_USAGE_EVENTS": ("start INT, globalPid INT, deviceId INT, address INT, bytes INT,"
                                         "memoryOperationType INT, memKind INT", memory),
        "ThreadNames": ("globalTid INT, nameId INT", [(tid(first, 7), 5)]),
        "PROCESSES": ("globalPid INT, pid INT, name TEXT", [(tid(first), first, "/usr/bin/python")]),
        "TARGET_INFO_GPU": ("id INT, name TEXT", [(0, "NVIDIA A100")]),
        "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs INT, utcTime TEXT", [(SESSION, "")]),
        "GPU_METRICS": ("timestamp INT, typeId INT, metricId INT, value INT", [(t, 0x500, 1, t) for t in range(5)]),
        "TARGET_INFO_GPU_METRICS": ("typeId INT, sourceId INT, metricId INT, metricName TEXT",
                                    [(0x500, 1, 1, "SM Active [Throughput %]")]),
        "SOMETHING_NEW": ("a INT, b INT", [(1, 2)]),
    })  # fmt: skip


def rocpd(path: Path, steps: int = 10, guids: tuple[str, ...] = (GUID,)) -> Path:
    """Runs of rocprofv3: regions that launch dispatches and copies, allocations, counters."""
    tables: dict[str, tuple[str, list[tuple[Any, ...]]]] = {}
    for at, guid in enumerate(guids):
        events: list[Any] = []
        regions: list[Any] = []
        dispatches: list[Any] = []
        copies: list[Any] = []
        allocations: list[Any] = []
        values: list[Any] = []
        for step in range(steps):
            t, e = 10_000 * step + at, step * 4 + 1
            events += [(e, 9, step * 2 + 1, 0, 0), (e + 1, 9, step * 2 + 1, 0, 0), (e + 2, 9, step * 2 + 2, 0, 0),
                       (e + 3, 9, step * 2 + 2, 0, 0)]  # fmt: skip
            regions += [(e, 1, 1, t, t + 500, 1, e), (e + 2, 1, 1, t + 600, t + 900, 2, e + 2)]
            dispatches.append(
                (step + 1, 1, 1, 4, 1, step, 2, 0, t + 1000, t + 3000, 0, 64, 256, 1, 1, 1024, 1, 1, e + 1)
            )
            copies.append((step + 1, 1, 1, t + 3100, t + 3500, 3, 4, 1, 1 << 20, 2, 0, e + 3))
            allocations.append((step + 1, 1, 1, 4, "ALLOC", "REAL", t, t + 5, 4096 * (step + 1), 512))
            if step % 2:
                allocations.append((100 + step, 1, 1, None, "FREE", "REAL", t + 5000, t + 5001, 4096 * (step + 1), 0))
            values.append((step + 1, e + 1, 1, step * 1.5))
        strings = [(1, "hipLaunchKernel"), (2, "hipMemcpyAsync"), (3, "MEMORY_COPY_HOST_TO_DEVICE"), (9, "HIP_API")]
        for name, columns, rows in (
            ("metadata", "id INTEGER, tag TEXT, value TEXT", [(1, "schema_version", "3"), (2, "uuid", guid)]),
            ("string", "id INTEGER, string TEXT", strings),
            ("info_process", "id INTEGER, pid INT, command TEXT", [(1, 4242 + at, "/opt/bin/train --x")]),
            ("info_thread", "id INTEGER, pid INT, tid INT, name TEXT", [(1, 1, 4243, "")]),
            ("info_agent", "id INTEGER, type TEXT, type_index INT, product_name TEXT, name TEXT",
             [(1, "CPU", 0, "EPYC", ""), (4, "GPU", 0, "MI300X", "gfx942")]),
            ("info_kernel_symbol", "id INTEGER, kernel_name TEXT, display_name TEXT", [(1, "_Z4gemmv.kd", "gemm()")]),
            ("info_pmc", "id INTEGER, symbol TEXT, name TEXT, agent_id INT, pid INT, units TEXT",
             [(1, "SQ_WAVES", "waves", 4, 1, "waves")]),
            ("event", "id INTEGER, category_id INT, stack_id INT, parent_stack_id INT, correlation_id INT", events),
            ("region", "id INTEGER, pid INT, tid INT, start INT, end INT, name_id INT, event_id INT", regions),
            ("kernel_dispatch", "id INTEGER, pid INT, tid INT, agent_id INT, kernel_id INT, dispatch_id INT, "
            "queue_id INT,"
             "stream_id INT, start INT, end INT, private_segment_size INT, group_segment_size INT, "
             "workgroup_size_x INT,"
             "workgroup_size_y INT, workgroup_size_z INT, grid_size_x INT, grid_size_y INT, grid_size_z INT, "
             "event_id INT",
             dispatches),
            ("memory_copy", "id INTEGER, pid INT, tid INT, start INT, end INT, name_id INT, dst_agent_id INT,"
             "src_agent_id INT, size INT, stream_id INT, queue_id INT, event_id INT", copies),
            ("memory_allocate", "id INTEGER, pid INT, tid INT, agent_id INT, type TEXT, level TEXT, start INT, end INT,"
             "address INT, size INT", allocations),
            ("pmc_event", "id INTEGER, event_id INT, pmc_id INT, value REAL", values),
            ("unheard_of", "id INTEGER", []),
        ):  # fmt: skip
            tables[f"rocpd_{name}{guid}"] = (columns, rows)
    return fill(path, tables)
