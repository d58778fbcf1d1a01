"""Profiles of networks: steps with equal work are one row, and of constants only what a step reads counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing.panels import pack_constant
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.runtime.runs.profile import MachinePeak, TimedAction
from test_zoo import import_benchmark

PEAK = MachinePeak(flops=1e9, traffic=1e9, reads=1e9)


def timed_product(seconds: float, *, epilogue: Epilogue | None = None, traffic: int = 1 << 30) -> TimedAction:
    """A product of 2 rows by a constant [32, 64], 8192 operations and 8192 bytes."""
    tensor = import_benchmark("products").tensor
    weights = pack_constant(np.ones((32, 64), np.float32), host_target())
    (step,) = matmul_steps(tensor(2, 32), weights, tensor(2, 64), epilogue=epilogue)
    return TimedAction(step, seconds, 8192, traffic)


def test_steps_with_equal_work_are_one_row() -> None:
    profiles = import_benchmark("network_profiles")
    gelu = Epilogue(Apply("gelu", (Local("x"),)))
    groups = profiles.group_steps([timed_product(1.0), timed_product(2.0, epilogue=gelu), timed_product(3.0)])
    assert [(group.count, group.seconds) for group in groups] == [(2, 4.0), (1, 2.0)]
    assert [group.kernel.endswith(" gelu") for group in groups] == [False, True]
    first, second = profiles.table(groups, 6.0, PEAK).splitlines()[2:]
    assert "| 2 | 66.7% | 2000000.0 us | 0.00819 M | 0% | 0.00819 MB | 0.0 |" in first
    assert "| 1 | 33.3% |" in second


def test_short_rows_are_left_out() -> None:
    profiles = import_benchmark("network_profiles")
    groups = profiles.group_steps([timed_product(1.0)])
    assert len(profiles.table(groups, 99.0, PEAK).splitlines()) == 3
    assert len(profiles.table(groups, 101.0, PEAK).splitlines()) == 2


def test_of_a_constant_only_what_a_step_reads_counts() -> None:
    limits = import_benchmark("limits")
    whole = timed_product(1.0)
    assert limits.constant_bytes(whole) == 8192
    assert limits.constant_bytes(replace(whole, traffic=100)) == 100


def test_the_longer_of_operations_and_reads_limits_a_step() -> None:
    limits = import_benchmark("limits")
    reading, computing = timed_product(1.0), replace(timed_product(1.0), flops=10_000)
    assert limits.step_limits([replace(reading, flops=100), computing], PEAK) == (1e-5, 8.192e-6)
