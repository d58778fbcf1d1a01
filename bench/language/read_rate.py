"""The rate at which threads read memory: an array of float32 larger than all caches, a share for each thread."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

import numpy as np

from sardonyx._src.compile.kernels.tuning import peak
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.llvm.loaded_kernels import kernel_address
from sardonyx._src.ir import Array

BYTES = 1 << 29
ROUNDS = 12
KERNEL_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


def read_rates() -> Callable[[int], float]:
    """The rate in GB/s, the best of some rounds, as a function of the number of threads."""
    values = np.ones(BYTES // 4, np.float32)
    return lambda threads: BYTES / min(read_seconds(values, threads) for _ in range(ROUNDS)) / 1e9


def read_seconds(values: Array, threads: int) -> float:
    """Seconds until each thread has read its share."""
    step = host_target().lanes * peak.READ_VECTORS
    share = len(values) // threads // step * step
    sums = [np.zeros(host_target().lanes, np.float32) for _ in range(threads)]
    arguments = [
        np.array([values[i * share :].ctypes.data, share, total.ctypes.data], np.int64)
        for i, total in enumerate(sums)
    ]
    read = KERNEL_TYPE(kernel_address(peak.READ_KERNEL))
    workers = [threading.Thread(target=read, args=(row.ctypes.data, 0, 1, None)) for row in arguments]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.perf_counter() - start
