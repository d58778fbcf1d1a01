"""Differences between two models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from sardonyx._src.io.devices_proto import configuration_to
from sardonyx._src.ir.graph import Function, Graph, Model, TrainingInfo, Value
from sardonyx._src.rewrite.tools.diff.change import Change
from sardonyx._src.rewrite.tools.diff.graphs import Comparison, maps

FIELDS = ("ir_version", "producer_name", "producer_version", "domain", "model_version")


def diff(
    a: Model, b: Model, *, weights_tolerance: float = 0.0, advance: Callable[[], None] = lambda: None
) -> list[Change]:
    """Every difference between two models, in the order of the models; none when they say the same.

    Nodes are taken for one by name, outputs, how they are computed, neighbours and order, so that a renamed node is
    a change of names.  Weights are equal when every element is, wherever it is stored, or when none differs by more than
    `weights_tolerance`; they are read one pair after another.  `advance` is called after each pair.
    """
    return list(differences(a, b, Comparison(weights_tolerance, advance)))


def differences(a: Model, b: Model, comparison: Comparison) -> Iterator[Change]:
    for name in FIELDS:
        if getattr(a, name) != getattr(b, name):
            yield Change("model", "changed", name, str(getattr(a, name)), str(getattr(b, name)))
    if a.doc != b.doc:
        yield Change("doc", "changed", "model", a.doc, b.doc)
    yield from maps("metadata", a.metadata, b.metadata, "model")
    yield from imports(a.opset_imports, b.opset_imports, "")
    for place, one, other in (("model", a, b), ("graph", a.graph, b.graph)):
        if fields(one.unknown) != fields(other.unknown):
            yield Change("model", "changed", f"{place} unknown fields", str(one.unknown), str(other.unknown))
    yield from maps("device", devices(a), devices(b), "model")
    yield from comparison.graphs(a.graph, b.graph)
    yield from functions(a, b, comparison)
    for i, (one_step, other_step) in enumerate(zip_longest(a.training, b.training)):
        yield from training(one_step, other_step, f"training_info[{i}]", comparison)


def fields(unknown: Sequence[bytes | memoryview] | None) -> list[bytes]:
    return [bytes(one) for one in unknown or ()]


def devices(model: Model) -> dict[str, str]:
    return {one.name: str(configuration_to(one)) for one in model.configurations}


def imports(a: dict[str, int], b: dict[str, int], at: str) -> Iterator[Change]:
    left, right = ({domain or "ai.onnx": version for domain, version in found.items()} for found in (a, b))
    yield from maps("import", left, right, at)


def functions(a: Model, b: Model, comparison: Comparison) -> Iterator[Change]:
    for key, function in a.functions.items():
        other = b.functions.get(key)
        if other is None:
            yield Change("function", "removed", function.label)
        else:
            yield from bodies(function, other, comparison)
    for key, function in b.functions.items():
        if key not in a.functions:
            yield Change("function", "added", function.label)


def bodies(one: Function, other: Function, comparison: Comparison) -> Iterator[Change]:
    at = one.label
    if one.doc != other.doc:
        yield Change("doc", "changed", at, one.doc, other.doc)
    yield from maps("metadata", one.metadata, other.metadata, at)
    yield from imports(one.opset_imports, other.opset_imports, at)
    yield from comparison.attributes(one.attributes, other.attributes, at)
    yield from comparison.graphs(one.body, other.body, f"{at}.")


def training(
    one: TrainingInfo | None, other: TrainingInfo | None, at: str, comparison: Comparison
) -> Iterator[Change]:
    if one is None or other is None:
        yield Change("training", "added" if one is None else "removed", at)
        return
    for name, a, b in (
        ("initialization", one.initialization, other.initialization),
        ("algorithm", one.algorithm, other.algorithm),
    ):
        yield from parts(a, b, f"{at}.{name}", comparison)
    for name, left, right in (
        ("initialization_binding", one.initialization_binding, other.initialization_binding),
        ("update_binding", one.update_binding, other.update_binding),
    ):
        if bindings(left) != bindings(right):
            yield Change("training", "changed", f"{at}.{name}", str(bindings(left)), str(bindings(right)))


def parts(a: Graph | None, b: Graph | None, at: str, comparison: Comparison) -> Iterator[Change]:
    if a is not None and b is not None:
        yield from comparison.graphs(a, b, f"{at}.")
    elif a is not b:
        yield Change("training", "added" if a is None else "removed", at)


def bindings(pairs: Sequence[tuple[Value, Value]]) -> dict[str, str]:
    return {key.name: value.name for key, value in pairs}
