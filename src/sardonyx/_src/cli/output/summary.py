"""Summary of a model: metadata, interface, operators and sizes, without reading weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from sardonyx._src.dtypes import DataType
from sardonyx._src.io.external import ExternalStorage
from sardonyx._src.ir import Function, Model, SparseTensor, Tensor, Value
from sardonyx._src.ir.model_version import format_model_version
from sardonyx._src.ir.walk import graphs, nodes, roots

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


def summary(model: Model) -> dict[str, Json]:
    """The metadata, interface, operators and sizes of a model as JSON."""
    tensors = list(weights(model))
    return {
        "ir_version": model.ir_version,
        "opset_imports": {domain or "ai.onnx": version for domain, version in model.opset_imports.items()},
        "producer": " ".join(filter(None, (model.producer_name, model.producer_version))),
        "domain": model.domain,
        "model_version": model.model_version,
        "model_version_text": None
        if model.model_version is None
        else format_model_version(model.model_version),
        "doc": model.doc,
        "metadata": dict(model.metadata),
        "graph": model.graph.name,
        "inputs": [port(v) for v in model.graph.inputs if v.initializer is None],
        "inputs_with_defaults": [port(v) for v in model.graph.inputs if v.initializer is not None],
        "outputs": [port(v) for v in model.graph.outputs],
        "nodes": sum(1 for graph in roots(model) for _ in nodes(graph)),
        "operators": dict(operators(model)),
        "functions": [signature(f) for f in model.functions.values()],
        "training_steps": len(model.training),
        "tensors": len(tensors),
        "parameters": sum(size(t) for t in tensors),
        "bytes": sum(nbytes(t) for t in tensors),
        "element_types": dict(Counter(t.dtype.text for t in tensors).most_common()),
        "external_data": dict(Counter(locations(tensors)).most_common()),
        "notes": [str(note) for note in model.notes],
    }


def port(value: Value) -> dict[str, Json]:
    entry: dict[str, Json] = {"name": value.name, "type": str(value.type) if value.type else None}
    if value.doc:
        entry["doc"] = value.doc
    return entry


def operators(model: Model) -> Iterable[tuple[str, int]]:
    """Operators with their node counts, in descending order; domains other than ai.onnx are prefixed."""
    names = (f"{n.domain}.{n.op_type}" if n.domain else n.op_type for g in roots(model) for n in nodes(g))
    return sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0]))


def signature(function: Function) -> str:
    inputs = ", ".join(v.name for v in function.body.inputs)
    outputs = ", ".join(v.name for v in function.body.outputs)
    return f"{function.label}({inputs}) => ({outputs})"


def weights(model: Model) -> Iterable[Tensor | SparseTensor]:
    """All initializers, including those of subgraphs and training graphs, and all tensors in attributes."""
    for root in roots(model):
        for graph in graphs(root):
            for value in graph.initializers.values():
                if value.initializer is not None:
                    yield value.initializer
            for node in graph.nodes:
                yield from (
                    a.value for a in node.attributes.values() if isinstance(a.value, Tensor | SparseTensor)
                )


def locations(tensors: Iterable[Tensor | SparseTensor]) -> Iterable[str]:
    """The location of the data file of each external tensor."""
    for tensor in tensors:
        parts = (tensor.values, tensor.indices) if isinstance(tensor, SparseTensor) else (tensor,)
        yield from (p.storage.location for p in parts if isinstance(p.storage, ExternalStorage))


def size(tensor: Tensor | SparseTensor) -> int:
    return tensor.values.size if isinstance(tensor, SparseTensor) else tensor.size


def nbytes(tensor: Tensor | SparseTensor) -> int:
    if isinstance(tensor, SparseTensor):
        return tensor.values.nbytes + tensor.indices.nbytes
    return tensor.nbytes if tensor.dtype is not DataType.STRING or tensor.size < 10_000 else 0


def flat(mapping: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in mapping.items())
