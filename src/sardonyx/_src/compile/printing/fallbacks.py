"""The reasons why nodes run as reference kernels."""

from __future__ import annotations

from sardonyx._src.compile.kernels.elementwise.operators import SCALAR_OPERATORS
from sardonyx._src.compile.partition.regions.registry import is_supported
from sardonyx._src.compile.prepare.decompose import limits_of
from sardonyx._src.compile.program.steps.assumptions import observation_of
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Model, Node, TensorType, Value
from sardonyx._src.ops.bind import schema_of


def fallback_reason(node: Node, model: Model) -> str:
    """Why a node is a fallback operation."""
    if (node.domain, node.op_type, node.overload) in model.functions:
        return "a function of the model"
    try:
        version = schema_of(node, model.opset_imports).since_version
    except SardonyxError as error:
        return str(error)
    limits = limits_of(node)
    if limits is None and not is_supported(node.domain, node.op_type, version):
        return f"no native {node.op_type}-{version}"
    values = [v for v in (*node.inputs, *node.outputs) if v is not None and v.name]
    unknown = next((v for v in values if not has_known_dims(v)), None)
    if unknown is not None:
        return f"{unknown.name} is {unknown.type or 'of unknown type'}{describe_observation(node)}"
    scalar = SCALAR_OPERATORS.get(node.op_type) if not node.domain else None
    limits = limits or (scalar.limits if scalar else "")
    types = ", ".join(str(v.type or "a constant") for v in values)
    return f"no native {node.op_type} of {types}{': ' * bool(limits)}{limits}"


def describe_observation(node: Node) -> str:
    """Describes how a session handles a node with results whose rank inference does not know; "" for other nodes."""
    observation = observation_of(node)
    if observation is None:
        return ""
    fact = "rank" if observation.condition is None else "branch"
    return f"; runs tell the {fact}, and a program is specialized for it"


def has_known_dims(value: Value) -> bool:
    """Whether a value is a tensor whose dims are all constants or expressions."""
    if value.initializer is not None:
        return True
    type_ = value.type
    return isinstance(type_, TensorType) and type_.shape is not None and None not in type_.shape
