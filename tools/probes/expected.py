"""What the programs of `kernel_cases` compute: the bits of the native engine, beside the reference engine or a contract.

    python -m probes.expected FILE NAME...

All classes with fused multiply-add compute the same bits.  So this runs in a process for the least of them that this machine
has, and compares models with the reference engine, and steps with what their contract says; the other classes are then tested with results that their kernels did not compute.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sardonyx as sx
from probes.case_builder import KernelCase
from probes.kernel_cases import kernel_cases
from probes.kernels import Results
from probes.step_cases import StepCase
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.compile.llvm.host_target import linux_features, vendor
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.llvm.target_classes import TargetClass, classes_of, target_of
from sardonyx._src.ir import Array


def has_fma(target_class: TargetClass) -> bool:
    """Whether a class computes the bits of the others."""
    return target_of(target_class, target_class.triple, "").has_fma


def least_class() -> str:
    machine = saved_program_machine()
    assert machine is not None, "results are computed under Linux"
    classes = [c for c in classes_of(linux_features(machine), vendor(), machine) if has_fma(c)]
    assert classes, "results are computed by a processor with fused multiply-add"
    return classes[-1].name


def expected_results(names: Sequence[str]) -> Results:
    """The results of cases, which another process computes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.npz")
        search = os.pathsep.join([str(Path(__file__).parent.parent), *filter(None, sys.path)])
        environment = {**os.environ, "SARDONYX_TARGET": least_class(), "PYTHONPATH": search}
        subprocess.run(
            [sys.executable, "-m", "probes.expected", str(path), *names], env=environment, check=True
        )
        results: dict[str, list[Array]] = {name: [] for name in names}
        with np.load(path) as archive:
            for name in archive:
                results[name.rpartition("/")[0]].append(archive[name])
        return results


def compute(case: KernelCase) -> Sequence[Array]:
    """The results of the native engine, after a comparison with the reference engine."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = sx.Session(case.model, engine="native", start="compiled", threads=1)
        results = [np.asarray(result) for result in session.run(case.feeds).values()]
    exact = [np.asarray(r) for r in sx.Session(case.model, engine="reference").run(case.feeds).values()]
    for result, expected in zip(results, exact, strict=True):
        assert result.dtype == expected.dtype and result.shape == expected.shape, case.name
        actual, desired = result.astype(np.float64), expected.astype(np.float64)
        assert np.isfinite(actual).all(), f"{case.name} must have finite results"
        np.testing.assert_allclose(
            actual, desired, rtol=case.tolerance, atol=case.tolerance, err_msg=case.name
        )
    return results


def main(path: str, *names: str) -> None:
    arrays: dict[str, Any] = {}
    for case in kernel_cases():
        if case.name in names:
            results = case.prepare(host_target()).compute() if isinstance(case, StepCase) else compute(case)
            arrays |= {f"{case.name}/{i}": result for i, result in enumerate(results)}
    np.savez(path, **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
