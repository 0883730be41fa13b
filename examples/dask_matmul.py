"""The small program of the tape's users on four Dask workers: two random matrices, matmul, relu, sum.

peephole run examples/dask_matmul.py && peephole visualize
"""

from __future__ import annotations

import numpy as np

import peephole

WORKERS = 4


def randn(rows: int, columns: int, seed: int) -> np.ndarray:
    """A random matrix, or a worker's part of it."""
    return np.random.default_rng(seed).standard_normal((rows, columns))


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A worker's rows of the product."""
    return a @ b


def relu(x: np.ndarray) -> np.ndarray:
    """What is positive."""
    return np.maximum(x, 0)


def sum_(*parts: np.ndarray) -> float:
    """The sum over one part, or over the sums of all parts."""
    return float(sum(np.sum(part) for part in parts))


sum_.__name__ = "sum"


def main() -> None:
    """Runs it and prints the result."""
    from distributed import Client, LocalCluster, wait

    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        workers = sorted(client.scheduler_info()["workers"])
        peephole.signal("START_RANDOM")
        a = [client.submit(randn, 100 // WORKERS, 100, i, workers=[w]) for i, w in enumerate(workers)]
        b = client.submit(randn, 100, 100, WORKERS, workers=[workers[0]])
        wait([*a, b])
        peephole.signal("END_RANDOM")
        peephole.signal("START_FORWARD")
        c = [client.submit(matmul, part, b, workers=[w]) for part, w in zip(a, workers, strict=True)]
        d = [client.submit(relu, part) for part in c]
        sums = [client.submit(sum_, part) for part in d]
        result = client.submit(sum_, *sums).result()
        peephole.signal("END_FORWARD")
        print(f"Result: {result:.3f} from {len(workers)} workers")


if __name__ == "__main__":
    main()
