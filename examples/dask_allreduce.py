"""An all-reduce on four Dask workers: each has a gradient, one sums them up, all get the sum.

peephole run examples/dask_allreduce.py && peephole show -s Workers
"""

from __future__ import annotations

import numpy as np

import peephole

WORKERS = 4
SIZE = 250_000


def gradient(rank: int) -> np.ndarray:
    """A worker's own gradient."""
    return np.random.default_rng(rank).standard_normal(SIZE)


def allreduce_sum(*parts: np.ndarray) -> np.ndarray:
    """The sum of all gradients."""
    return np.sum(parts, axis=0)


def apply_update(own: np.ndarray, total: np.ndarray) -> float:
    """What a worker does with the sum; the number is the same for all of them."""
    return float((own * 0 + total).sum())


def main() -> None:
    """Runs it and prints what the workers agree on."""
    from distributed import Client, LocalCluster, wait

    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        addresses = sorted(client.scheduler_info()["workers"])
        own = [client.submit(gradient, i, workers=[addresses[i]]) for i in range(WORKERS)]
        wait(own)
        peephole.signal("allreduce_START")
        total = client.submit(allreduce_sum, *own, workers=[addresses[0]])
        updates = [client.submit(apply_update, own[i], total, workers=[addresses[i]]) for i in range(WORKERS)]
        wait(updates)
        peephole.signal("allreduce_END")
        results = {round(value, 6) for value in client.gather(updates)}
        print(f"all {WORKERS} workers agree: {len(results) == 1}")


if __name__ == "__main__":
    main()
