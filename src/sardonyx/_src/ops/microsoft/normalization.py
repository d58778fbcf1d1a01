"""Layer normalizations of com.microsoft, and SimplifiedLayerNormalization, which onnxruntime's optimizer puts into ai.onnx.

Spec: com.microsoft EmbedLayerNormalization-1 QEmbedLayerNormalization-1 SkipLayerNormalization-1
SkipSimplifiedLayerNormalization-1, and SimplifiedLayerNormalization-1, as onnxruntime computes them.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.quantized_text import scalar_text
from sardonyx._src.ops.microsoft.text import DOMAIN, results_text
from sardonyx._src.ops.nn.normalizing import inner_axes
from sardonyx._src.ops.support.body_text import scalar, vector

simplified = Operator(
    "SimplifiedLayerNormalization",
    tolerance="rounding",
    about="RMSNormalization under onnxruntime's internal name",
)
skip = Operator("SkipLayerNormalization", DOMAIN, tolerance="rounding", about="LayerNormalization of a sum")
skip_simplified = Operator(
    "SkipSimplifiedLayerNormalization", DOMAIN, tolerance="rounding", about="RMSNormalization of a sum"
)
embed = Operator(
    "EmbedLayerNormalization",
    DOMAIN,
    tolerance="rounding",
    about="LayerNormalization of the sum of word, position and segment embeddings",
)

quantized_embed = Operator(
    "QEmbedLayerNormalization",
    DOMAIN,
    tolerance="rounding",
    about="EmbedLayerNormalization of quantized tables",
)
TABLES = ("word", "position", "segment", "gamma", "beta")


@simplified.body(1, opset=23)
def simplified_body(inference: Inference) -> str:
    axes = ", ".join(map(str, inner_axes(inference)))
    return f"""(x, scale) => {results_text(inference, "y", "deviation")} {{
      y = RMSNormalization <axis = @axis, epsilon = @epsilon, stash_type = @stash_type> (x, scale)
      {inverse_deviation_text("x", "deviation", f"[{axes}]") if inference.outputs > 1 else ""}
    }}"""


def inverse_deviation_text(x: str, result: str, axes: str) -> str:
    """The nodes of `result`, the reciprocal of the root mean square, in float."""
    return f"""
      wide = Cast <to = {int(DataType.FLOAT)}> ({x})
      square = Mul(wide, wide)
      axes = Constant <value_ints = {axes}> ()
      mean_square = ReduceMean(square, axes)
      epsilon = Constant <value_float = @epsilon> ()
      positive = Add(mean_square, epsilon)
      root = Sqrt(positive)
      {result} = Reciprocal(root)"""


@skip.body(1, opset=17)
def skip_body(inference: Inference) -> str:
    outputs = results_text(inference, "y", "mean", "deviation", "sum")
    beta = ", beta" if inference.has(3) else ""
    return f"""(x, skip, gamma, beta, bias) => {outputs} {{
      {sum_text(inference, bias=4)}
      y, mean, deviation = LayerNormalization <axis = -1, epsilon = @epsilon> (sum, gamma{beta})
    }}"""


@skip_simplified.body(1, opset=23)
def skip_simplified_body(inference: Inference) -> str:
    outputs = results_text(inference, "y", "mean", "deviation", "sum")
    more = inverse_deviation_text("sum", "deviation", "[-1]") + "  mean = ReduceMean(wide, axes)"
    return f"""(x, skip, gamma, bias) => {outputs} {{
      {sum_text(inference, bias=3)}
      y = RMSNormalization <axis = -1, epsilon = @epsilon> (sum, gamma)
      {more if inference.outputs > 1 else ""}
    }}"""


def sum_text(inference: Inference, bias: int) -> str:
    """The nodes of `sum`: x + skip + bias; bias: the position of the optional bias."""
    if not inference.has(bias):
        return "sum = Add(x, skip)"
    return "skipped = Add(x, skip)  sum = Add(skipped, bias)"


@embed.body(1, opset=17)
def embed_body(inference: Inference) -> str:
    """ids: [batch, length]; embeddings: [entries, hidden]."""
    has_segments = inference.has(1) and inference.has(4)
    segments = "segments = Gather(segment_embedding, segment_ids)  sum = Add(placed, segments)"
    inputs = "ids, segment_ids, word_embedding, position_embedding, segment_embedding, gamma, beta, mask, position_ids"
    return f"""({inputs}) => {results_text(inference, "y", "mask_index", "sum")} {{
      words = Gather(word_embedding, ids)
      {positions_text(inference)}
      placed = Add(words, positions)
      {segments if has_segments else "sum = Identity(placed)"}
      y = LayerNormalization <axis = -1, epsilon = @epsilon> (sum, gamma, beta)
      {mask_index_text(inference)}
    }}"""


@quantized_embed.body(1, opset=17)
def quantized_embed_body(inference: Inference) -> str:
    """The body of `embed_body` for quantized tables, gamma and beta; scales and zero points have one element."""
    inputs = "ids segment_ids word_q position_q segment_q gamma_q beta_q mask".split()
    inputs += [f"{table}_scale" for table in TABLES] + [f"{table}_zero" for table in TABLES]
    nodes = []
    for i, table in enumerate(TABLES):
        if inference.has(2 + i):
            parts = []
            for kind, position in (("scale", 8 + i), ("zero", 13 + i)):
                text, name = scalar_text(inference, position, f"{table}_{kind}")
                nodes.append(text)
                parts.append(name)
            nodes.append(f"{table} = DequantizeLinear({table}_q, {', '.join(parts)})")
    has_segments = inference.has(1) and inference.has(4)
    segments = "segments = Gather(segment, segment_ids)  sum = Add(placed, segments)"
    return f"""({", ".join(inputs)}) => {results_text(inference, "y", "mask_index")} {{
      {" ".join(nodes)}
      words = Gather(word, ids)
      position_embedding = Identity(position)
      {positions_text(inference)}
      placed = Add(words, positions)
      {segments if has_segments else "sum = Identity(placed)"}
      y = LayerNormalization <axis = -1, epsilon = @epsilon> (sum, gamma, beta)
      {mask_index_text(inference)}
    }}"""


def positions_text(inference: Inference) -> str:
    """The nodes of `positions`, the embeddings of the words' positions: position_ids, or 0, 1, 2, ..."""
    if inference.op_type == "EmbedLayerNormalization" and inference.has(8):
        return "positions = Gather(position_embedding, position_ids)"
    return f"""
      none = {vector([0])}
      length = Shape <start = 1, end = 2> (ids)
      positions = Slice(position_embedding, none, length, none)"""


def mask_index_text(inference: Inference) -> str:
    """The nodes of `mask_index`: for each batch entry the number of words with mask 1; 0 if there is no mask."""
    if not inference.has(7):
        return """
      batch = Shape <end = 1> (ids)
      mask_index = ConstantOfShape <value = int32[1] {0}> (batch)"""
    return f"""
      present = {scalar(1, DataType.INT32)}
      is_present = Equal(mask, present)
      numbers = Cast <to = {int(DataType.INT32)}> (is_present)
      inner = {vector([1])}
      mask_index = ReduceSum <keepdims = 0> (numbers, inner)"""
