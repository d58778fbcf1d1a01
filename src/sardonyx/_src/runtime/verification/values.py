"""The difference of one value between two runs."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.ops.run_values import RuntimeValue
from sardonyx._src.rewrite.proof.compare import MIN_MAGNITUDE, difference, relative_tolerance


@dataclass(frozen=True, slots=True)
class ValueComparison:
    """The comparison of a value in two runs.

    node: the location of the node that computes the value in the first model, with its operator.
    max_abs: the largest absolute difference of two finite elements.
    error: the same difference relative to the largest finite element of the second run.
    tolerance: the largest `error` of values that agree.
    nonfinite: the numbers of NaNs and infinities in the first and in the second run.
    why: how the values differ; "" if they agree within `tolerance`.
    """

    name: str
    node: str
    max_abs: float
    error: float
    tolerance: float
    nonfinite: tuple[int, int]
    why: str

    @property
    def agrees(self) -> bool:
        return not self.why

    def as_json(self) -> dict[str, object]:
        """The fields as JSON, with null for floats that are not finite."""
        facts = asdict(self)
        finite = {k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in facts.items()}
        return {**finite, "nonfinite": list(self.nonfinite), "agrees": self.agrees}


def compare_value(
    name: str, node: str, actual: RuntimeValue, expected: RuntimeValue, tolerance: float | None
) -> ValueComparison:
    """Compares a value of the first run with the same value of the second.

    tolerance: relative, for floats; None for the tolerance of the element type.
    """
    nonfinite = (count_nonfinite(actual), count_nonfinite(expected))
    if not (is_float_pair(actual, expected)):
        return ValueComparison(name, node, 0.0, 0.0, 0.0, nonfinite, difference(actual, expected, tolerance))
    assert isinstance(actual, np.ndarray) and isinstance(expected, np.ndarray), "both are tensors"
    bound = relative_tolerance(expected.dtype) if tolerance is None else tolerance
    kind = np.complex128 if actual.dtype.kind == "c" else np.float64
    a, b = actual.astype(kind), expected.astype(kind)
    finite = np.isfinite(a) & np.isfinite(b)
    max_abs = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
    error = max_abs / max(float(np.abs(b[finite]).max(initial=0.0)), MIN_MAGNITUDE)
    why = f"error {error:.2g}" if error > bound else ""
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        why = f"NaNs or infinities differ: {nonfinite[0]} and {nonfinite[1]}"
    return ValueComparison(name, node, max_abs, error, bound, nonfinite, why)


def is_float_pair(actual: RuntimeValue, expected: RuntimeValue) -> bool:
    """Whether both are tensors of one floating-point type and one shape."""
    return (
        isinstance(actual, np.ndarray)
        and isinstance(expected, np.ndarray)
        and actual.dtype == expected.dtype
        and actual.shape == expected.shape
        and is_float(actual)
    )


def is_float(array: Array) -> bool:
    return array.dtype.kind in "fc" or "float" in array.dtype.name


def count_nonfinite(value: RuntimeValue) -> int:
    """The number of NaNs and infinities of a tensor."""
    if not isinstance(value, np.ndarray) or not is_float(value):
        return 0
    return int(value.size - np.isfinite(value if value.dtype.kind == "c" else value.astype(np.float64)).sum())
