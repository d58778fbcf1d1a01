"""Values of a run, and the limits of its resources: what sessions need of operators before any kernel runs."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array
from sardonyx._src.ops import persistent_sequence
from sardonyx._src.ops.persistent_sequence import WIDTH, PersistentSequence

# The value of an input or output of a node during a run: a tensor (ONNX strings are `str` in an object array), a sequence, a
# map, None for an optional without a value, or a sparse tensor.  Within a run, long sequences are persistent ones.
RuntimeValue: TypeAlias = persistent_sequence.RuntimeValue
SEQUENCES = (list, PersistentSequence)
# An output of a run, as callers see it.  Only the model decides which outputs are arrays.  With `Any`, code that expects an
# array need not test for one; type checkers still know the attributes of arrays, and `isinstance` narrows other values.
RunResult: TypeAlias = "Array | Any"
ARRAY_OVERHEAD = 128  # bytes of a NumPy array besides its elements


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of the resources of a run; the caller can raise each of them.  A run that exceeds one ends with a LimitError.

    bytes: the size of one result
    iterations: the number of iterations of one loop
    nodes: the number of nodes that the run executes, including those of loops and functions
    run_bytes: the size of everything that the run holds at one time: results that later nodes read, values that loops
        collect, the elements of sequences, outputs, and in native code also scratch memory; feeds and weights do not count.
        None: three quarters of the memory that this process may use, as its control groups or the machine limit it.
    seconds: the duration of the run; a limit of zero or less is exceeded before the run begins
    """

    bytes: int = 1 << 34
    iterations: int = 10_000_000
    nodes: int = 1_000_000_000
    run_bytes: int | None = None
    seconds: float = math.inf

    def __post_init__(self) -> None:
        """Raises InputError for a limit that is not a number."""
        for name in ("bytes", "iterations", "nodes", "run_bytes"):
            number = getattr(self, name)
            if not isinstance(number, int | np.integer) and not (name == "run_bytes" and number is None):
                raise InputError(f"limits.{name} must be an integer; got {number!r}", name=f"limits.{name}")
        if not is_number(self.seconds):
            raise InputError(
                f"limits.seconds must be a number of seconds; got {self.seconds!r}", name="limits.seconds"
            )


def is_number(x: object) -> bool:
    """Whether x is a real number, infinity included."""
    return isinstance(x, int | float | np.integer | np.floating) and not math.isnan(x)


def as_run_value(value: RuntimeValue) -> RuntimeValue:
    """A long list of tensors as a persistent sequence, which later edits share; any other value unchanged."""
    return as_run_sequence(value) if type(value) is list else value


def as_run_sequence(
    sequence: list[RuntimeValue] | PersistentSequence,
) -> list[RuntimeValue] | PersistentSequence:
    """`as_run_value` of a sequence."""
    if type(sequence) is list and len(sequence) >= WIDTH and isinstance(sequence[0], np.ndarray):
        return PersistentSequence.of(sequence)
    return sequence


def as_plain_value(value: RuntimeValue) -> RuntimeValue:
    """A persistent sequence as a list, for callers and observers; any other value unchanged."""
    return list(value) if type(value) is PersistentSequence else value
