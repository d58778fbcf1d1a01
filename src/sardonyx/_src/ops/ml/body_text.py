"""Building blocks for the bodies of operators on rows of features: rows as a matrix, lists of attributes, linear scores.

Functions named `*_text` return nodes of a body; their docstrings begin with the name of the value that these compute.
The "computed type" is float32 for an input of float32, and double for any other; scores become float32 before a post
transform.  Bodies need the number of features: a list of another length must be an error, but would be broadcast.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.ml.batches import batch
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.ml.post_transforms import NEARLY_ZERO, POST_TRANSFORMS
from sardonyx._src.ops.support.body_text import element_type, rank_of, scalar, vector

OPSET = 18  # the operator set of all bodies of ai.onnx.ml: the oldest one in which all reductions have axes as inputs
STANDARD_POST_TRANSFORMS = frozenset(POST_TRANSFORMS) - {"PROBIT"}


def computed_type(inference: Inference) -> DataType:
    """The element type in which a body computes."""
    return DataType.FLOAT if element_type(inference) is DataType.FLOAT else DataType.DOUBLE


def feature_count(inference: Inference) -> int:
    """The number of features of a row; raises InferenceError where it is not known."""
    features = batch(inference)[1]
    if not isinstance(features, int) or not features:
        inference.fail(f"the number of features must be known and positive for a body; got {features}")
    return features


def rows_text(inference: Inference) -> str:
    """`rows`: the input `X` as [N, C], of the computed type."""
    rank = rank_of(inference)
    if rank == 1:
        matrix = f"first_axis = {vector([0])}  matrix = Unsqueeze(X, first_axis)"
    else:
        matrix = "matrix = Identity(X)" if rank == 2 else "matrix = Flatten <axis = 1> (X)"
    return f"{matrix}  {cast_text(inference, 'matrix', 'rows', element_type(inference))}"


def cast_text(inference: Inference, source: str, target: str, dtype: DataType = DataType.FLOAT) -> str:
    """`target`: a value of an element type, in the computed type."""
    computed = computed_type(inference)
    operator = "Identity" if dtype is computed else f"Cast <to = {computed.value}>"
    return f"{target} = {operator}({source})"


def list_text(inference: Inference, name: str, attribute: str, shape: tuple[int, ...] | None = None) -> str:
    """`name`: a list of floats, in the computed type; reshaped if `shape` is given."""
    lines = [f"{name}_list = Constant <value_floats = @{attribute}> ()"]
    source = f"{name}_list"
    if shape is not None:
        dims = vector(shape) if shape else "Constant <value = int64[0] {}> ()"
        lines += [f"{name}_shape = {dims}", f"{name}_tensor = Reshape({source}, {name}_shape)"]
        source = f"{name}_tensor"
    return "  ".join([*lines, cast_text(inference, source, name)])


def linear_text(inference: Inference, scores: int) -> str:
    """`scores`: the linear scores of `rows`, [N, scores] float32, by the attributes coefficients and intercepts."""
    has_intercepts = bool(count(inference.attributes, "intercepts"))
    weights = list_text(inference, "weights", "coefficients", (scores, feature_count(inference)))
    bias = list_text(inference, "bias", "intercepts") if has_intercepts else ""
    return f"{weights}  {bias}  {product_text(inference, has_bias=has_intercepts)}"


def product_text(inference: Inference, *, has_bias: bool) -> str:
    """`scores`: the product of `rows` and the transposed `weights`, plus `bias`, as float32."""
    operands = "rows, weights, bias" if has_bias else "rows, weights"
    return f"products = Gemm <transB = 1> ({operands})  {narrow_text(inference, 'products', 'scores')}"


def narrow_text(inference: Inference, source: str, target: str) -> str:
    """`target`: a value of the computed type, as float32."""
    is_float = computed_type(inference) is DataType.FLOAT
    return f"{target} = {'Identity' if is_float else f'Cast <to = {DataType.FLOAT.value}>'}({source})"


def post_transform_text(name: str, scores: int) -> str | None:
    """`Z`: `scores`, [N, scores], after a post transform; None for one that standard operators cannot compute."""
    if name not in STANDARD_POST_TRANSFORMS:
        return None
    if name == "NONE" or scores < 2:
        return "Z = Identity(scores)"
    if name == "LOGISTIC":
        return "Z = Sigmoid(scores)"
    if name == "SOFTMAX":
        return "Z = Softmax <axis = 1> (scores)"
    return f"""class_axis = {vector([1])}
      top = ReduceMax(scores, class_axis)
      below = Sub(scores, top)
      powers = Exp(below)
      minus_top = Neg(top)
      factor = Exp(minus_top)
      small = Mul(scores, factor)
      sizes = Abs(scores)
      limit = {scalar(NEARLY_ZERO, DataType.FLOAT)}
      is_large = Greater(sizes, limit)
      parts = Where(is_large, powers, small)
      total = ReduceSum(parts, class_axis)
      Z = Div(parts, total)"""


def both_classes_text(name: str, *, signed: bool) -> str | None:
    """`Z`: the scores of two classes, [N, 2], from `scores`, [N, 1]; see `both_classes`."""
    if name not in STANDARD_POST_TRANSFORMS:
        return None
    if name == "LOGISTIC":
        return "minus = Neg(scores)  pair = Concat <axis = 1> (minus, scores)  Z = Sigmoid(pair)"
    if signed:
        return "minus = Neg(scores)  Z = Concat <axis = 1> (minus, scores)"
    return f"""one = {scalar(1, DataType.FLOAT)}
      rest = Sub(one, scores)
      Z = Concat <axis = 1> (rest, scores)"""


def label_text(inference: Inference) -> str:
    """`Y`: the class labels at `places`, [N] int64."""
    integers = inference.attributes.get("classlabels_ints")
    if isinstance(integers, tuple) and integers == tuple(range(len(integers))) and integers:
        return "Y = Identity(places)"
    kind = "ints = @classlabels_ints" if integers else "strings = @classlabels_strings"
    return f"labels = Constant <value_{kind}> ()  Y = Gather(labels, places)"


def refuse_post_transform(inference: Inference, name: str) -> str:
    """Raises InferenceError since there is no body for a post transform."""
    return inference.fail(
        f"a body is known for {', '.join(sorted(STANDARD_POST_TRANSFORMS))} only; got {name!r}"
    )
