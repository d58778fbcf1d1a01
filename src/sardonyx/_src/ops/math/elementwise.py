"""What elementwise kernels share: the result's element type, and functions of one tensor as whole operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from itertools import pairwise
from typing import ParamSpec, cast

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import merge_shapes, same_tensor
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

P = ParamSpec("P")


def in_own_type(function: Callable[P, Array]) -> Callable[P, Array]:
    """Wraps a kernel so that its result has the first input's element type; narrow floats are computed in float32.

    Whatever type NumPy gives the result, it is rounded once, at the end.
    """

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> Array:
        first = args[0]
        assert isinstance(first, np.ndarray), (
            f"{function.__name__} is given {type(first).__name__}, no tensor"
        )
        wide = [widen(a) if isinstance(a, np.ndarray) else a for a in args]
        result = np.asarray(cast("Callable[..., Array]", function)(*wide, **kwargs))
        return result if result.dtype == first.dtype else narrow(result, first.dtype)

    return wrapped


def function_of_one(op: Operator, versions: Sequence[int], function: Callable[[Array], Array]) -> None:
    """Gives `op` the facets of y = function(x), of one type and shape, which means the same in all its versions."""
    op.infer(*versions)(same_tensor)
    for old, new in pairwise(versions):
        if new > 13:  # in whose operator set Cast takes bfloat16
            op.convert((new, old))(widening(NARROW_FLOATS))

    @in_own_type
    def evaluate(x: Array) -> Array:
        return function(x)

    op.eval(*versions, ignores=("consumed_inputs",) if 1 in versions else ())(evaluate)


def same_shapes(t: Inference) -> Result:
    """Output 0 has the element type and the one shape of all inputs."""
    types = [t.tensor(i) for i in range(len(t.inputs))]
    elements = next((x.dtype for x in types if x is not None), None)
    shape = merge_shapes(t, [None if x is None else x.shape for x in types], "the inputs")
    return None if elements is None else TensorType(elements, shape)


def require_same_shapes(xs: Sequence[Array]) -> None:
    """Raises EvaluationError when the shapes are not all the same."""
    shapes = list(dict.fromkeys(x.shape for x in xs))
    if len(shapes) > 1:
        found = " and ".join(str(list(shape)) for shape in shapes[:2])
        raise EvaluationError(f"inputs of shapes {found}; all inputs have to be of one shape")
