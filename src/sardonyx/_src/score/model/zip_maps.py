"""Outputs that are maps: a model that ends in ZipMap nodes is run without them, since making a map for each row is slow."""

from __future__ import annotations

from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import MapType, Model, SequenceType, TensorType
from sardonyx._src.tools.extract import extract
from sardonyx._src.tools.rename import Renaming, rename

Labels = dict[str, tuple[str, ...]]


def has_maps(type: object) -> bool:
    return isinstance(type, SequenceType) and isinstance(type.elem, MapType)


def without_maps(model: Model) -> tuple[Model, Labels]:
    """A model without its final ZipMap nodes, and the labels by output; the inputs of these nodes get the names of the outputs."""
    if not any(has_maps(value.type) for value in model.graph.outputs):
        return model, {}
    names: dict[str, str] = {}  # the name of the output, by the name of the value that replaces it
    labels: Labels = {}
    for value in model.graph.outputs:
        node, name = value.producer, value.name
        if node is not None and (node.domain, node.op_type) == ("ai.onnx.ml", "ZipMap"):
            tensor = node.inputs[0]
            is_matrix = tensor is not None and tensor.producer is not None and not is_vector(tensor.type)
            if tensor is not None and is_matrix and tensor.name not in names:
                attributes = [node.attributes.get(f"classlabels_{kind}s") for kind in ("string", "int64")]
                (stated,) = (attribute.value for attribute in attributes if attribute is not None)
                assert isinstance(stated, tuple | list), "labels are lists"
                labels[name], name = tuple(map(label_text, stated)), tensor.name
        names[name] = value.name
    if not labels or len(names) < len(model.graph.outputs):
        return model, {}
    try:
        renaming = {old: new for old, new in names.items() if old != new}
        return rename(extract(model, outputs=list(names)), Renaming(outputs=renaming)), labels
    except SardonyxError:  # a subgraph uses the name, too
        return model, {}


def label_text(label: object) -> str:
    """A label as the name of a field; labels in attributes may be bytes."""
    return label.decode("utf-8", "replace") if isinstance(label, bytes) else str(label)


def is_vector(type: object) -> bool:
    return isinstance(type, TensorType) and type.shape is not None and len(type.shape) != 2
