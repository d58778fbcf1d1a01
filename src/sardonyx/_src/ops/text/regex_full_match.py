"""RegexFullMatch: whether an RE2 regular expression matches each whole string.

Spec: ai.onnx RegexFullMatch-20.  Matching takes time proportional to the length of the string, whatever the pattern.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.shapes import same_shape
from sardonyx._src.ops.text.re2.automaton import compile_expression
from sardonyx._src.ops.text.re2.matching import full_matches

op = Operator("RegexFullMatch", elementwise=True)


@op.infer(20)
def infer(inference: Inference) -> Result:
    pattern = inference.attributes.get("pattern")
    if not isinstance(pattern, str):
        inference.fail("the attribute pattern must be given")
    try:
        compile_expression(pattern)
    except EvaluationError as error:
        inference.fail(str(error))
    except LimitError:
        pass  # the pattern is valid, though too large to be evaluated here
    return same_shape(DataType.BOOL)(inference)


@op.eval(20)
def evaluate(X: Array, *, pattern: str | None = None, context: RunContext) -> Array:
    """X: strings, result: bool of the same shape."""
    if pattern is None:
        raise EvaluationError("the attribute pattern must be given")
    matched = full_matches(pattern, X.reshape(-1).tolist(), context.limits.iterations)
    return matched.reshape(X.shape)
