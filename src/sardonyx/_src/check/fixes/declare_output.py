"""declare-output: an output of the main graph without type or shape gets what its operators make.

Keeps: what is declared; of sizes, those that are numbers or follow from variables of the inputs: others stay open.
Leaves: inputs, which callers decide on, and models whose types contradict each other.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.names import variables_in
from sardonyx._src.errors import InferenceError, SardonyxError
from sardonyx._src.infer.walk import infer
from sardonyx._src.io import from_proto
from sardonyx._src.io.external import ExternalFiles
from sardonyx._src.io.types_proto import type_to
from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.ir.types import TensorType
from sardonyx._src.proto.messages import GraphProto, ModelProto


@fix("SX106 SX107")
def declare_output(fault: Fault) -> str:
    model, graph = fault.document.model, fault.the(GraphProto)
    if model is None or not fault.at.startswith("output["):
        return ""
    value = graph.output[int(fault.at.partition("[")[2].partition("]")[0])]
    type_ = types_of(fault, model).get(value.name)
    if type_ is None:
        return ""
    found = type_to(type_)
    if value.type is None:
        value.type = found
    elif value.type.tensor_type is not None and found.tensor_type is not None:
        value.type.tensor_type.shape = found.tensor_type.shape
    else:
        return ""
    return f"declared {value.name!r} as {type_}"


def types_of(fault: Fault, record: ModelProto) -> dict[str, TensorType]:
    """The tensors with known rank among the outputs of the main graph, by name; none where no model can be made."""
    known = fault.round.outputs
    if known is None:
        known = fault.round.outputs = {}
        errors: list[InferenceError] = []
        try:
            model = from_proto.model(record, ExternalFiles(fault.document.path, fault.document.policy))
            infer(model, errors=errors)
        except SardonyxError:  # what cannot be read, as other rules say
            return known
        inputs = {name for value in fault.the(GraphProto).input for name in variables_in(value.type)}
        for value in model.graph.outputs if not errors else ():
            if isinstance(value.type, TensorType) and value.type.shape is not None:
                shape = tuple(closed(dim, inputs) for dim in value.type.shape)
                known[value.name] = replace(value.type, shape=shape)
    return known


def closed(dim: Dim, names: set[str]) -> Dim:
    """The size, unless it depends on others than these variables."""
    return None if isinstance(dim, Expr) and not dim.symbols() <= names else dim
