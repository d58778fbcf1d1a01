"""Differences between two models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from sardonyx._src.io.serde.devices import configuration_to
from sardonyx._src.ir import Function, Graph, Model, Value
from sardonyx._src.ir.details import unknown_fields
from sardonyx._src.ir.model import TrainingInfo
from sardonyx._src.ir.model_version import format_model_version
from sardonyx._src.tools.diff.difference import Difference
from sardonyx._src.tools.diff.graphs import Comparison, maps

MODEL_FIELDS = ("ir_version", "producer_name", "producer_version", "domain", "model_version")


def diff(
    a: Model, b: Model, *, weights_tolerance: float = 0.0, advance: Callable[[], None] = lambda: None
) -> list[Difference]:
    """Every difference between two models, in model order; empty if they are equivalent.

    Nodes are matched by name, outputs, structure, neighbors and order, so that a renamed node is a change of names.
    Weights are equal if no element differs by more than `weights_tolerance`, wherever they are stored.  They are read in
    pairs, and `advance` is called after each pair.
    """
    return list(differences(a, b, Comparison(weights_tolerance, advance)))


def differences(a: Model, b: Model, comparison: Comparison) -> Iterator[Difference]:
    for name in MODEL_FIELDS:
        if getattr(a, name) != getattr(b, name):
            yield Difference("model", "changed", name, field_text(a, name), field_text(b, name))
    if a.doc != b.doc:
        yield Difference("doc", "changed", "model", a.doc, b.doc)
    yield from maps("metadata", a.metadata, b.metadata, "model")
    yield from imports(a.opset_imports, b.opset_imports, "")
    for place, left, right in (("model", a, b), ("graph", a.graph, b.graph)):
        before, after = unknown_fields(left.details), unknown_fields(right.details)
        if before != after:
            yield Difference("model", "changed", f"{place} unknown fields", str(before), str(after))
    yield from maps("device", devices(a), devices(b), "model")
    yield from comparison.graphs(a.graph, b.graph)
    yield from functions(a, b, comparison)
    for i, (one_step, other_step) in enumerate(zip_longest(a.training, b.training)):
        yield from training(one_step, other_step, f"training_info[{i}]", comparison)


def field_text(model: Model, name: str) -> str:
    value = getattr(model, name)
    is_version = name == "model_version" and isinstance(value, int)
    return format_model_version(value) if is_version else str(value)


def devices(model: Model) -> dict[str, str]:
    return {
        configuration.name: str(configuration_to(configuration)) for configuration in model.configurations
    }


def imports(a: dict[str, int], b: dict[str, int], place: str) -> Iterator[Difference]:
    left, right = ({domain or "ai.onnx": version for domain, version in table.items()} for table in (a, b))
    yield from maps("import", left, right, place)


def functions(a: Model, b: Model, comparison: Comparison) -> Iterator[Difference]:
    for key, function in a.functions.items():
        other = b.functions.get(key)
        if other is None:
            yield Difference("function", "removed", function.label)
        else:
            yield from bodies(function, other, comparison)
    for key, function in b.functions.items():
        if key not in a.functions:
            yield Difference("function", "added", function.label)


def bodies(left: Function, right: Function, comparison: Comparison) -> Iterator[Difference]:
    place = left.label
    if left.doc != right.doc:
        yield Difference("doc", "changed", place, left.doc, right.doc)
    yield from maps("metadata", left.metadata, right.metadata, place)
    yield from imports(left.opset_imports, right.opset_imports, place)
    yield from comparison.attributes(left.attributes, right.attributes, place)
    yield from comparison.graphs(left.body, right.body, f"{place}.")


def training(
    left: TrainingInfo | None, right: TrainingInfo | None, place: str, comparison: Comparison
) -> Iterator[Difference]:
    if left is None or right is None:
        yield Difference("training", "added" if left is None else "removed", place)
        return
    for name, a, b in (
        ("initialization", left.initialization, right.initialization),
        ("algorithm", left.algorithm, right.algorithm),
    ):
        yield from parts(a, b, f"{place}.{name}", comparison)
    for name, left_binding, right_binding in (
        ("initialization_binding", left.initialization_binding, right.initialization_binding),
        ("update_binding", left.update_binding, right.update_binding),
    ):
        if bindings(left_binding) != bindings(right_binding):
            yield Difference(
                "training",
                "changed",
                f"{place}.{name}",
                str(bindings(left_binding)),
                str(bindings(right_binding)),
            )


def parts(a: Graph | None, b: Graph | None, place: str, comparison: Comparison) -> Iterator[Difference]:
    if a is not None and b is not None:
        yield from comparison.graphs(a, b, f"{place}.")
    elif a is not b:
        yield Difference("training", "added" if a is None else "removed", place)


def bindings(pairs: Sequence[tuple[Value, Value]]) -> dict[str, str]:
    return {key.name: value.name for key, value in pairs}
