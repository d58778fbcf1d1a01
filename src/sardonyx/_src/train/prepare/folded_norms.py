"""Detection of exports in which BatchNormalization was folded into convolutions."""

from __future__ import annotations

import re

from sardonyx._src.ir import Model, Node, Value
from sardonyx._src.ir.model import Note
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.registry import find

# Names of weights into which an exporter has folded a norm.  PyTorch's TorchScript exporter gives such weights these names,
# and other weights the name of the module.  The exporter through torch.export names the new bias after the weight, with
# `_bias` appended.
FOLDED_NAME = re.compile(r"onnx::Conv(Transpose)?_\d+")


def note_folded_norms(model: Model) -> None:
    """Adds a note to a model whose convolutions contain folded norms, since they train differently than with the norms."""
    folded = [node for node in nodes(model.graph) if is_folded(node)]
    if folded:
        text = (
            f"BatchNormalization seems to be folded into {len(folded)} convolutions, such as {folded[0].name!r}: training "
            "treats them as convolutions with a bias, without statistics of the batch; to train the norms, export the model "
            "in training mode"
        )
        model.notes.append(Note("graph", text))


def is_folded(node: Node) -> bool:
    """Whether a node is a convolution whose weights and bias have the names of folded ones."""
    op = find(node.domain, node.op_type)
    if op is None or op.linear_layer not in ("conv", "conv_transpose") or len(node.inputs) < 3:
        return False
    weight, bias = node.inputs[1:3]
    is_derived = weight is not None and bias is not None and bias.name == f"{weight.name}_bias"
    return is_derived or (has_folded_name(weight) and has_folded_name(bias))


def has_folded_name(value: Value | None) -> bool:
    return value is not None and value.initializer is not None and bool(FOLDED_NAME.fullmatch(value.name))
