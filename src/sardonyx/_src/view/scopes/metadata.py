"""Scopes from metadata that exporters write: `pkg.torch.onnx.name_scopes` with the classes of modules, and `namespace`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

NAME_SCOPES = "pkg.torch.onnx.name_scopes"
CLASS_HIERARCHY = "pkg.torch.onnx.class_hierarchy"
NAMESPACES = ("namespace", "pkg.onnxscript.namespace", "pkg.torch.onnx.namespace")


def path_from_metadata(metadata: Mapping[str, str]) -> tuple[str, ...] | None:
    """The scopes of a node, outermost first, with the names of their classes; None if the metadata have none."""
    if NAME_SCOPES in metadata:
        names = parse_list(metadata[NAME_SCOPES])
        if names is not None:
            classes = parse_list(metadata.get(CLASS_HIERARCHY, "")) or []
            return path_of(names[:-1], classes)
    for key in NAMESPACES:
        if key in metadata:
            return path_from_namespace(metadata[key])
    return None


def parse_list(text: str) -> list[str] | None:
    """The strings of a list as Python writes it; None for anything else."""
    if len(text) > 1 << 16:
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, list) and all(isinstance(item, str) for item in value) else None


def path_from_namespace(text: str) -> tuple[str, ...]:
    """The scopes of `: Model/encoder: BertEncoder/encoder.layer.0: BertLayer/add: aten.add.Tensor`; the last is the node."""
    parts = [part.partition(": ") for part in text.split("/")]
    return path_of([name.rstrip(":") for name, _, _ in parts[:-1]], [kind for _, _, kind in parts[:-1]])


def path_of(names: Sequence[str], classes: Sequence[str]) -> tuple[str, ...]:
    """Labels of nested modules, without the name of the enclosing module: in `encoder`, `encoder.layer.0` is `layer.0`."""
    path: list[str] = []
    outer = ""
    for i, name in enumerate(names):
        short = name.removeprefix(f"{outer}.") if outer else name
        if not name or short in (outer, ""):
            continue
        kind = classes[i].rpartition(".")[2] if i < len(classes) else ""
        path.append(f"{short} ({kind})" if kind else short)
        outer = name
    return tuple(path)
