"""Assertions that the native engine agrees with the reference engine on random models."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

import sardonyx as sx
from compile.random_graphs import RandomModel, RandomValue
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Array

ROUNDING = 3e-5  # of the largest element: a few hundred float32 roundings, as in sums of a few thousand terms
REORDERING = (
    16  # factor by which another order of operations may be worse than the reference engine's float32
)


def assert_agrees(sample: RandomModel, threads: tuple[int, ...] = (1, 2, 3)) -> None:
    """Asserts that the native engine is right, and computes the same bits with each of these numbers of threads.

    A session runs all feeds twice, whose shapes differ (the first time may specialize the program), then repeatedly those of
    one shape in new arrays: the last of these runs take the fast path.  Every stage of the compilation is verified.
    """
    compile_model(sample.model, host_target(), verify=True)
    all_runs: list[list[dict[str, Array]]] = []
    start = 0
    for count in threads:
        session = sx.Session(sample.model, engine="native", threads=count)
        order = [*range(len(sample.feeds)), *reversed(range(len(sample.feeds))), 0, 0, 0]
        runs = [
            results(session, {name: array.copy() for name, array in sample.feeds[index].items()})
            for index in order
        ]
        for index, outputs in zip(order, runs, strict=True):
            assert_outputs_match(
                outputs, sample, index, f"seed {sample.seed}, {count} threads, feeds {index}"
            )
        all_runs.append(runs)
        if session.stats.specializations:  # whose rounding is not that of the general program
            start = len(sample.feeds)
    first = set(map(bits_of, all_runs[0][start : start + len(sample.feeds)]))
    for run in itertools.chain(*(runs[start:] for runs in all_runs)):
        assert bits_of(run) in first, f"seed {sample.seed}: results depend on threads or on earlier runs"


def results(session: sx.Session, feeds: Mapping[str, Array]) -> dict[str, Array]:
    return {name: np.asarray(value) for name, value in session.run(feeds).items()}


def bits_of(run: Mapping[str, Array]) -> tuple[bytes, ...]:
    return tuple(value.tobytes() for value in run.values())


def assert_outputs_match(outputs: Mapping[str, Array], sample: RandomModel, run: int, where: str) -> None:
    """Asserts that each output of a run with the feeds number `run` is right."""
    for name, value in sample.outputs.items():
        assert_output_matches(outputs[name], value, run, f"{where}, output {name}")


def assert_output_matches(actual: Array, value: RandomValue, run: int, where: str) -> None:
    expected, precise = value.arrays[run], value.precise[run]
    assert actual.shape == expected.shape, f"{where}: expected shape {expected.shape}, got {actual.shape}"
    assert actual.dtype == expected.dtype, f"{where}: expected type {expected.dtype}, got {actual.dtype}"
    if value.is_exact:
        np.testing.assert_array_equal(actual, expected, where)
        return
    finite = np.isfinite(precise)
    np.testing.assert_array_equal(actual[~finite], expected[~finite], where)
    largest = float(np.abs(precise[finite]).max(initial=0.0))
    reference_error = float(np.abs(expected[finite] - precise[finite]).max(initial=0.0))
    tolerance = ROUNDING * max(largest, 1e-3) + REORDERING * reference_error
    np.testing.assert_allclose(actual[finite], precise[finite], 0, tolerance, err_msg=where)


def outcome(session: sx.Session, feeds: Mapping[str, Array]) -> dict[str, Array] | str:
    """The results, or the name of the error's class."""
    try:
        return results(session, feeds)
    except SardonyxError as error:
        return type(error).__name__
