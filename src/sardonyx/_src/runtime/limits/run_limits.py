"""Limits of a run in the status block, and `Bailout`, which ends a run that a program cannot complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sardonyx._src.compile.executor import status
from sardonyx._src.compile.program.steps.program import Program, stage_of
from sardonyx._src.errors import LimitError
from sardonyx._src.interp.run_state import RunState
from sardonyx._src.ir.dims import evaluate
from sardonyx._src.ops.run_values import RunLimits

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Names of guards, which are the keys of `SessionStats.bailouts`.  A guard of dims has its text as its name (`program.steps.guards`).
INDEX_OUT_OF_RANGE = "index out of range"
INVALID_SIZE = "negative or overflowing size"
MEMORY_LIMIT = "memory limit"
NEGATIVE_COUNT = "negative count"
FALLBACK_SHAPE = "shape of a fallback result"
EMPTY_SCAN_OUTPUT = "scan output of a loop without iterations"
OVERRIDDEN_INITIALIZER = "overridden initializer"
INPUT_SIZES = "sizes of inputs other than declared"
INNER_SIZES = 'declared sizes of inner values, to be compared (shapes="strict")'
BRANCH_SIZES = "declared sizes of values in branches or loops, to be compared"


class Bailout(Exception):
    """A guard of the program failed: the run must be repeated on the reference engine, which reports errors precisely."""

    def __init__(self, guard: str) -> None:
        super().__init__(guard)
        self.guard = guard


def name_failed_guard(program: Program, sizes: Mapping[str, int], stage: int) -> str:
    """The first guard that these sizes violate, such as `n == min(n, 512)`.

    sizes: the sizes by the program's symbols.
    stage: the stage of the program up to which sizes are known.
    """
    stages = program.stages
    for guard in program.guards:
        if max(stage_of(dim, stages) for dim in guard) <= stage and evaluate(guard.left, sizes) != evaluate(
            guard.right, sizes
        ):
            return str(guard)
    return INVALID_SIZE


def reset_status(block: NDArray[np.int64], run: RunState) -> None:
    """Writes the limits of a run into the status block (`compile.executor.status`), and clears the reports of kernels."""
    for slot in (status.FAULT, status.EXCEEDED_LIMIT, status.RESUME_UNIT, status.LONG_UNITS):
        block[slot] = 0
    block[status.NODES_CALLED], block[status.MAX_NODES] = run.nodes, min(run.limits.nodes, status.UNLIMITED)
    block[status.MAX_ITERATIONS] = min(run.limits.iterations, status.UNLIMITED)


def raise_limit_error(block: NDArray[np.int64], limits: RunLimits) -> None:
    """Raises LimitError if native code reported that a limit was exceeded."""
    match int(block[status.EXCEEDED_LIMIT]):
        case status.LOOP_LIMIT:
            raise LimitError(f"the loop exceeds {limits.iterations} iterations", limit="limits.iterations")
        case status.SCAN_LIMIT:
            raise LimitError(
                f"the inputs have {block[status.EXCEEDED_COUNT]} slices", limit="limits.iterations"
            )
        case status.NODE_LIMIT:
            raise LimitError(f"a run must call at most {limits.nodes} nodes", limit="limits.nodes")
