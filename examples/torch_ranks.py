"""Four ranks train together and one of them is slow: who, and in which step?

    torchrun --nproc-per-node 4 examples/torch_ranks.py traces
    peephole import traces/*.json.gz -o ranks
    peephole ranks ranks

Each rank leaves a trace of torch.profiler; rank 2 loads its data slowly in steps 4 and 5. Needs torch, no GPU (gloo).
"""

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function, schedule

SLOW_RANK, SLOW_STEPS, STEPS = 2, (4, 5), 8


def main() -> None:
    """Trains a small network and writes the trace of this rank."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "traces")
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=STEPS - 2)) as profiler:
        for step in range(STEPS):
            with record_function("load_data"):
                batch = torch.randn(32, 64)
                if rank == SLOW_RANK and step in SLOW_STEPS:
                    time.sleep(0.2)
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
            profiler.step()
    profiler.export_chrome_trace(str(folder / f"rank{rank}.json.gz"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
