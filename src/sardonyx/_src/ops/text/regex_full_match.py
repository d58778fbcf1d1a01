"""RegexFullMatch: whether a regular expression of RE2 matches all of each string.

Spec: ai.onnx RegexFullMatch-20.  Matching takes time proportional to the length of the string, whatever the pattern.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import same_shape
from sardonyx._src.ops.text.re2.automaton import Matcher, compiled

op = Operator("RegexFullMatch", elementwise=True)


@op.infer(20)
def infer(t: Inference) -> Result:
    pattern = t.attributes.get("pattern")
    if not isinstance(pattern, str):
        t.fail("the attribute pattern is missing")
    try:
        compiled(pattern)
    except EvaluationError as error:
        t.fail(str(error))
    except LimitError:
        pass  # too large for this engine, which contradicts nothing
    return same_shape(DataType.BOOL)(t)


@op.eval(20)
def evaluate(X: Array, *, pattern: str | None = None, call: Call) -> Array:
    """X: strings, result: bool of the same shape."""
    if pattern is None:
        raise EvaluationError("the attribute pattern is missing")
    matcher = Matcher(compiled(pattern), call.limits.iterations)
    return np.array([matcher.matches(text) for text in X.reshape(-1).tolist()], np.bool_).reshape(X.shape)
