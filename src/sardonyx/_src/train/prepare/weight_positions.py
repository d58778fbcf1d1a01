"""The inputs of operators that are always weights of a layer, and those in which a tensor may be a weight or a constant."""

from __future__ import annotations

from sardonyx._src.ir import Node, Tensor, Value

PRODUCTS = ("MatMul", "Gemm", "Einsum", "Conv", "ConvTranspose", "FusedMatMul")
WEIGHT_INPUTS: dict[str, tuple[int, ...]] = {
    "MatMul": (0, 1),
    "Gemm": (0, 1, 2),
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "CausalConvWithState": (1, 2),
    "DeformConv": (1, 3),
    "RNN": (1, 2, 3),
    "GRU": (1, 2, 3),
    "LSTM": (1, 2, 3, 7),
    "BatchNormalization": (1, 2),
    "GroupNormalization": (1, 2),
    "InstanceNormalization": (1, 2),
    "LayerNormalization": (1, 2),
    "RMSNormalization": (1,),
    "PRelu": (1,),
    "Gather": (0,),  # a table of embeddings
    "Attention": (0, 1, 2),  # learned queries, or learned keys and values
}
# Operators whose constant operand may be a weight (a table of positions, a scale, a learned token) or a constant (an offset,
# a factor, padding).
SUMS, FACTORS, JOINS = ("Add", "Sum"), ("Mul",), ("Concat",)
TRANSPARENT = (
    *("Identity", "Cast", "CastLike", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose"),
    *("Expand", "Tile", "Slice", "Split", "Pad"),
)  # the operators whose results have the elements of their first input

# Sin and Cos, and the operators that may lie between the frequencies of rotary positions and them.
WAVES, BEFORE_WAVES = ("Sin", "Cos"), ("Transpose", "Concat", "Reshape", "Unsqueeze", "Cast", "Mul")


def is_weight_input(node: Node, slot: int) -> bool:
    """Whether an input of an operator is a weight by its position; every input of an operator of a vendor counts as one."""
    if node.domain:
        return not node.domain.startswith("ai.onnx")
    return slot in WEIGHT_INPUTS.get(node.op_type, ()) or node.op_type == "Einsum" or is_bias(node, slot)


def is_bias(node: Node, slot: int) -> bool:
    """Whether an input is a bias: a vector that is added to a product."""
    if node.domain or node.op_type != "Add":
        return False
    row, product = node.inputs[slot], node.inputs[1 - slot]
    is_row = row is not None and row.initializer is not None and len(row.initializer.shape) == 1
    return is_row and product is not None and is_result_of(product, PRODUCTS)


def is_result_of(value: Value, operators: tuple[str, ...]) -> bool:
    return value.producer is not None and value.producer.op_type in operators


def is_quantization_parameter(node: Node, slot: int) -> bool:
    """Whether an input is a scale or a zero point."""
    return not node.domain and node.op_type in ("QuantizeLinear", "DequantizeLinear") and slot > 0


def is_running_statistic(node: Node, slot: int) -> bool:
    """Whether an input of a node is a running mean or variance."""
    return node.op_type == "BatchNormalization" and not node.domain and slot in (3, 4)


def feeds_only_waves(node: Node) -> bool:
    """Whether the results of a node only reach Sin and Cos: its constant then has frequencies, as for rotary positions."""
    pending, seen, has_waves = [node], {node}, False
    while pending:
        readers = {reader for output in pending.pop().outputs for reader, _ in output.uses}
        waves = {reader for reader in readers if reader.op_type in WAVES}
        has_waves |= bool(waves)
        moves = readers - waves
        if any(reader.op_type not in BEFORE_WAVES for reader in moves):
            return False
        pending += moves - seen
        seen |= moves
    return has_waves


def is_part_of_group_norm(node: Node, slot: int) -> bool:
    """Whether an input is a constant of an InstanceNormalization that an exporter wrote for a group normalization.

    Such a node normalizes groups of channels, made by a Reshape, with scale 1 and bias 0; the trained scale and bias of the
    channels are applied by later nodes.
    """
    if node.op_type != "InstanceNormalization" or node.domain or slot == 0:
        return False
    data, value = node.inputs[0], node.inputs[slot]
    is_reshaped = data is not None and data.producer is not None and data.producer.op_type == "Reshape"
    if not is_reshaped or value is None or not isinstance(value.initializer, Tensor):
        return False
    return bool((value.initializer.numpy() == (1 if slot == 1 else 0)).all())
