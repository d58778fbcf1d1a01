"""How long until a worker process is ready to compile?  Ours (`compile_workers`) and `ProcessPoolExecutor`'s.

    python bench/worker_startup.py

Ready: the worker has described the processor, for which it loads LLVM.
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from sardonyx._src.compile.llvm import compiler
from sardonyx._src.compile.llvm.compile_workers import WorkerPool

ROUNDS = 7


def start_own_worker() -> None:
    pool = WorkerPool(1)
    assert pool.query_host_info() is not None, "the worker must start"
    pool.shut_down()


def start_executor(method: str) -> None:
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        executor.submit(compiler.query_host_info).result()


def measure(start: Callable[[], None]) -> dict[str, float]:
    """The median and the range of several rounds, in milliseconds."""
    milliseconds = []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        start()
        milliseconds.append((time.perf_counter() - before) * 1e3)
    return {
        "median": round(statistics.median(milliseconds)),
        "low": round(min(milliseconds)),
        "high": round(max(milliseconds)),
    }


def main() -> None:
    results = {"own": measure(start_own_worker)}
    for method in ("spawn", "forkserver"):
        results[method] = measure(partial(start_executor, method))
    print(json.dumps({"milliseconds": results, "rounds": ROUNDS}))


if __name__ == "__main__":
    main()
