"""Support for elementwise operators: the result's element type, unary operators, and inputs of one shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from itertools import pairwise
from typing import ParamSpec, cast

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import merge_shapes, same_tensor

P = ParamSpec("P")


def round_to_input_type(function: Callable[P, Array]) -> Callable[P, Array]:
    """Wraps a kernel so that its result has the first input's element type; narrow floats are computed in float32.

    The kernel may return any element type; its result is rounded once, at the end.
    """

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Array:
        first = args[0]
        assert isinstance(first, np.ndarray), (
            f"{function.__name__} is given {type(first).__name__}, no tensor"
        )
        wide = [promote_to_float32(a) if isinstance(a, np.ndarray) else a for a in args]
        result = np.asarray(cast("Callable[..., Array]", function)(*wide, **kwargs))
        return result if result.dtype == first.dtype else round_to_type(result, first.dtype)

    return wrapper


def define_unary(op: Operator, versions: Sequence[int], function: Callable[[Array], Array]) -> None:
    """Gives `op` the facets of y = function(x), where y has the type of x; all `versions` mean the same."""
    op.infer(*versions)(same_tensor)
    for old, new in pairwise(versions):
        if new > 13:  # from operator set 13 on, Cast supports bfloat16
            op.convert((new, old))(promote_input(NARROW_FLOATS))

    @round_to_input_type
    def evaluate(x: Array) -> Array:
        return function(x)

    op.eval(*versions, ignores=("consumed_inputs",) if 1 in versions else ())(evaluate)


def same_shapes(inference: Inference) -> Result:
    """Output 0 has the element type and shape of the inputs, which must all have the same shape."""
    types = [inference.tensor(i) for i in range(len(inference.inputs))]
    elements = next((x.dtype for x in types if x is not None), None)
    shape = merge_shapes(inference, [None if x is None else x.shape for x in types], "the inputs")
    return None if elements is None else TensorType(elements, shape)


def require_same_shapes(xs: Sequence[Array]) -> None:
    """Raises EvaluationError when the shapes are not all the same."""
    shapes = list(dict.fromkeys(x.shape for x in xs))
    if len(shapes) > 1:
        shown = " and ".join(str(list(shape)) for shape in shapes[:2])
        raise EvaluationError(f"all inputs must have the same shape; got {shown}")
