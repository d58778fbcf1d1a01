"""Contracts of kernels: the cases of a family of steps, by the sizes along its axes, and the walk through them.

A contract is a function of a trial and of the value along each axis, which adds operands to the trial and returns the
steps.  Sizes along an axis are those around the tile of the kernel, so that every remainder occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import pytest

from compile.contracts.targets import HOST, target_classes
from compile.contracts.trial import CHECKED_RUNS, RUNS, Trial
from sampling import FACTOR
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm.sources import sources_digest
from sardonyx._src.compile.program import Step

Axes: TypeAlias = Mapping[str, Sequence[Any]]
Case: TypeAlias = Mapping[str, Any]
DRAWS = 2  # cases for each value of an axis
MIN_CASES = 96  # of the host's class
SAMPLED_CASES = 4  # of another class
CASES_OF_A_CLASS = 100  # by `make fuzz`, times its factor


@dataclass(frozen=True, slots=True)
class Contract:
    """make: the steps of a case, or None if the kernel does not support it.  axes: the values along each axis on a target.

    is_native: whether a target has the kernel.
    """

    make: Callable[..., Sequence[Step] | None]
    axes: Callable[[Target], Axes]
    is_native: Callable[[Target], bool] = lambda target: True

    def __str__(self) -> str:
        return self.make.__name__


def around(tile: int) -> range:
    """Every remainder of a tile, with up to two tiles."""
    return range(2 * tile + 2)


def vector_edges(target: Target) -> list[int]:
    """Sizes around the ends of one to four vectors, of which a register tile may be, and of eight."""
    lanes = target.lanes
    ends = {vectors * lanes + offset for vectors in (1, 2, 3, 4, 8) for offset in (-1, 0, 1)}
    return sorted({n for n in (*ends, 3, lanes // 2) if n > 0})


def row_lengths(target: Target) -> tuple[int, ...]:
    """Rows around one to four vectors of elements of 4 bytes, and so of other sizes."""
    lanes = target.lanes
    longer = [n for n in vector_edges(target) if n > 2 * lanes + 1]
    return (*range(2 * lanes + 2), *longer, 257)


def check_contract(contract: Contract) -> None:
    """Walks the cases: each value of each axis on the host's class, and samples of another; many more by `make fuzz`.

    Samples are drawn by the sources of the compiler, so that a change is tested by others, and a failure is repeated.
    """
    targets = {name: target for name, target in target_classes().items() if contract.is_native(target)}
    if not targets:
        pytest.skip("no class of this processor has the kernel")
    rng = np.random.default_rng([int(sources_digest()[:8], 16), *str(contract).encode()])
    if FACTOR > 1:
        for name, target in targets.items():
            for case in draw_cases(contract.axes(target), rng, CASES_OF_A_CLASS * FACTOR):
                check_case(contract, name, case)
        return
    if HOST in targets:
        for case in each_value(contract.axes(targets[HOST]), rng):
            check_case(contract, HOST, case)
    name = str(rng.choice([*targets]))
    for case in draw_cases(contract.axes(targets[name]), rng, SAMPLED_CASES):
        check_case(contract, name, case)


def draw_cases(axes: Axes, rng: np.random.Generator, count: int) -> Iterator[Case]:
    """`count` different cases, or all of them."""
    lengths = [len(values) for values in axes.values()]
    total = prod(lengths)
    numbers = rng.choice(total, count, replace=False) if count < total else np.arange(total)
    for places in zip(*np.unravel_index(numbers, lengths), strict=True):
        yield {name: values[int(i)] for (name, values), i in zip(axes.items(), places, strict=True)}


def each_value(axes: Axes, rng: np.random.Generator) -> Iterator[Case]:
    """Some cases for each value of each axis, with random values of the others, and further random ones."""
    count = 0
    for name, values in axes.items():
        for value in [*values] * DRAWS:
            count += 1
            others = {other: choices[int(rng.integers(len(choices)))] for other, choices in axes.items()}
            yield {**others, name: value}
    yield from draw_cases(axes, rng, max(MIN_CASES - count, 0))


def check_case(contract: Contract, target_name: str, case: Case) -> bool:
    """Runs a case; False if the kernel does not support it.

    The optimized build runs where all cases do, after the checked one, which reports what would fault.
    """
    trial = Trial(target_classes()[target_name], seed=crc32(repr(case).encode()))
    steps = contract.make(trial, **case)
    if steps is None:
        return False
    try:
        trial.check(steps, (*CHECKED_RUNS, *RUNS) if FACTOR > 1 else CHECKED_RUNS)
    except AssertionError as error:
        raise AssertionError(f"{contract} on {target_name}, {dict(case)}: {error}") from error
    return True
