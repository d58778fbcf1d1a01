"""The valid models that cases mutate, with feeds of a run: cases of the onnx wheel and of tests/ops, and random graphs."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cases import Case, model_of
from compile.random_layers import sample
from conformance.official import node_cases
from fuzz.paths import ROOT
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.proto.binary import encode

RANDOM_GRAPHS, NODES_OF_RANDOM_GRAPHS = 150, 5
MAX_BYTES = 20_000  # of the models that are mutated


@dataclass(frozen=True)
class Subject:
    """A model, and feeds of a run.  operator: that of its only node, or ""."""

    name: str
    operator: str
    model: bytes
    feeds: Mapping[str, RuntimeValue]


def all_subjects() -> list[Subject]:
    """The models of every source, in an order that depends on nothing else."""
    subjects = [*operator_subjects(), *composed_subjects(), *random_subjects()]
    return [subject for subject in subjects if len(subject.model) <= MAX_BYTES]


def operator_subjects() -> Iterator[Subject]:
    """The node cases of the wheel that have one node, and the cases of tests/ops."""
    yield from (subject for subject in wheel_subjects() if subject.operator)
    for case in own_cases():
        feeds = {f"x{i}": x for i, x in enumerate(case.inputs) if x is not None or i in case.types}
        yield Subject(str(case), case.op, encode(to_proto.model(model_of(case))), feeds)


def composed_subjects() -> Iterator[Subject]:
    """The node cases of the wheel with several nodes: control flow, and operators expanded to their bodies."""
    yield from (subject for subject in wheel_subjects() if not subject.operator)


def wheel_subjects() -> Iterator[Subject]:
    for official in node_cases():
        model = official.load()
        inputs = next(iter(official.data_sets(model)))[0]
        names = [value.name for value in model.graph.inputs]
        feeds: dict[str, RuntimeValue] = dict(zip(names, inputs, strict=False))  # type: ignore[arg-type]
        operator = model.graph.nodes[0].op_type if len(model.graph.nodes) == 1 else ""
        yield Subject(official.name, operator, encode(to_proto.model(model)), feeds)


def random_subjects() -> Iterator[Subject]:
    for seed in range(RANDOM_GRAPHS):
        graph = sample(seed, NODES_OF_RANDOM_GRAPHS)
        feeds: dict[str, RuntimeValue] = {**graph.feeds[0]}
        yield Subject(f"random graph {seed}", "", encode(to_proto.model(graph.model)), feeds)


def own_cases() -> Iterator[Case]:
    """The cases in lists of the test modules of operators."""
    for path in sorted((ROOT / "tests" / "ops").rglob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"cases_of_{path.stem}", path)
        assert spec is not None and spec.loader is not None, f"{path} must be a module"
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for value in list(vars(module).values()):
            if isinstance(value, list):
                yield from (case for case in value if isinstance(case, Case))
