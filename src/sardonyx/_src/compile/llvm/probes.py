"""Probes: machine code that computes known results with each family of instructions of a class of processors.

They are compiled beforehand (`probes_file.py`), so that a class is tested without LLVM, and before kernels exist.  A wheel has
probes of its kernels, too (`kernel_probes.py`).
"""

from __future__ import annotations

import ctypes
import mmap

from sardonyx._src.compile.llvm.executable_memory import ExecutableMemory
from sardonyx._src.compile.llvm.kernel_library import class_library
from sardonyx._src.compile.llvm.kernel_probes import find_kernel_fault
from sardonyx._src.compile.llvm.kernel_probes_file import read_kernel_probes
from sardonyx._src.compile.llvm.probe_process import ProbeFault, SharedResults, run_function
from sardonyx._src.compile.llvm.probes_file import ClassProbes, has_probes, read_probes
from sardonyx._src.compile.llvm.target_classes import KERNEL_PROBES_PATH, PROBES_PATH


def run_class_probes(name: str) -> ProbeFault | None:
    """Runs the probes of a class, those of kernels last; returns the first that fails, None if all are right.

    The class is one of this machine's (`target_classes.classes_of`).
    """
    probes = read_probes(PROBES_PATH, name)
    code = ExecutableMemory(probes.code, probes.functions, {})
    fault = find_fault(probes, code)
    if fault is not None or not has_probes(KERNEL_PROBES_PATH, name):
        return fault
    library = class_library(name)
    if library is None or library.path.parent != KERNEL_PROBES_PATH.parent:
        return None
    return find_kernel_fault(read_kernel_probes(KERNEL_PROBES_PATH, name), library.get, code)


def find_fault(probes: ClassProbes, code: ExecutableMemory) -> ProbeFault | None:
    """Runs probes, and compares their results.  code: theirs, in memory."""
    finished, results, how = run_probes(probes, code)
    start = 0
    for number, expected in enumerate(probes.results):
        if number >= finished:
            return ProbeFault(expected.probe, how or "does not end")
        content = probes.data[expected.place : expected.place + expected.size]
        if results[start : start + expected.size] != content:
            return ProbeFault(expected.probe, "gives wrong values")
        start += expected.size
    return None


def run_probes(probes: ClassProbes, code: ExecutableMemory) -> tuple[int, bytes, str]:
    """The number of probes that have ended, their results, and how the next one has ended the process, or ""."""
    results = SharedResults(sum(result.size for result in probes.results))
    data = mmap.mmap(-1, len(probes.data))
    data[:] = probes.data
    how = run_function(code, "run_probes", ctypes.addressof(ctypes.c_char.from_buffer(data)), results)
    return results.finished, results.content(), how
