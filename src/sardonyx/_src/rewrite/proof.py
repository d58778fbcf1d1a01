"""The proof of a rewriting: the model before and after it run on generated inputs, and the guilty edit found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sardonyx._src.errors import OptimizationError, SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.graph import Function, Model, Node, Value
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ir.walk import captured
from sardonyx._src.ops.api import RunLimits, RuntimeValue
from sardonyx._src.ops.registry import find
from sardonyx._src.rewrite.compare import difference, kind_difference
from sardonyx._src.rewrite.feeds import Feeds, NotMade, generated
from sardonyx._src.rewrite.report import OptimizationReport

SETS = 4  # of inputs that the original takes; more say little more
PATIENCE = 30.0  # seconds of running, after which one set has to do
LIMITS = RunLimits(bytes=1 << 31, iterations=100_000, nodes=10_000_000)
SEED = 1

Outputs = dict[str, RuntimeValue]


@dataclass(frozen=True, slots=True)
class Sample:
    """Inputs that the original model takes, what it makes of them, and which outputs are drawn at random."""

    feeds: Feeds
    outputs: Outputs
    drawn: frozenset[str]


def prove(
    model: Model,
    result: Model,
    again: Callable[[int], Model],
    report: OptimizationReport,
    dims: Mapping[str, int],
) -> None:
    """Raises OptimizationError, naming the first guilty edit, where the results of a rewritten model differ.

    `again` makes the rewritten model anew, stopped after so many edits.  `report` is told on how many sets of inputs
    the models agreed; on none at all where the original refuses all that could be made up, or cannot be run.
    """
    report.proved = 0
    try:
        original = Interpreter(model, limits=LIMITS, seed=SEED)
    except SardonyxError as error:
        report.unproved = str(error)
        return
    for sample in samples(original, dims, report):
        if why := disagreement(result, sample):
            raise guilty(sample, why, again, report)
        report.proved += 1


def samples(original: Interpreter, dims: Mapping[str, int], report: OptimizationReport) -> Iterator[Sample]:
    """Up to SETS sets of inputs with the original's outputs; why there is none stands in the report."""
    start, count = time.perf_counter(), 0
    at_random = drawn(original.model)
    try:
        for feeds in generated(original.model, dims):
            before = str(original.draws().bit_generator.state)
            try:
                outputs = original.run(feeds.values)
            except SardonyxError as error:
                report.unproved = report.unproved or str(error)
                continue
            if why := broken_declaration(original.model, outputs):
                report.unproved = report.unproved or why
                continue
            has_drawn = str(original.draws().bit_generator.state) != before
            count += 1
            yield Sample(feeds, outputs, at_random if has_drawn else frozenset())
            if count == SETS or time.perf_counter() - start > PATIENCE:
                return
    except NotMade as why:
        report.unproved = str(why)


def broken_declaration(model: Model, outputs: Outputs) -> str:
    """How results contradict what the model declares of its outputs; passes rely on that."""
    for value in model.graph.outputs:
        found, declared = outputs[value.name], value.type
        if (
            not isinstance(declared, TensorType)
            or declared.shape is None
            or not isinstance(found, np.ndarray)
        ):
            continue
        pairs = zip(declared.shape, found.shape, strict=False)
        sizes_differ = any(isinstance(d, int) and d != size for d, size in pairs)
        if sizes_differ or len(declared.shape) != found.ndim or declared.dtype.numpy != found.dtype:
            return f"output {value.name!r} is declared {declared}, and is {found.dtype}{list(found.shape)}"
    return ""


def drawn(model: Model) -> frozenset[str]:
    """The outputs that random numbers may have come into; of those, kinds and shapes alone are compared."""
    reached: set[Value] = set()
    for node in model.graph.nodes:
        read = {v for v in node.inputs if v is not None}.union(*(captured(g) for g in node.subgraphs))
        if not read.isdisjoint(reached) or draws(node, model, set()):
            reached.update(node.outputs)
    return frozenset(v.name for v in model.graph.outputs if v in reached)


def draws(node: Node, model: Model, seen: set[Function]) -> bool:
    """Whether a node may draw random numbers: its operator, what is inside it, or the function that it calls."""
    function = model.functions.get((node.domain, node.op_type, node.overload))
    if function is not None:
        if function in seen:
            return False
        seen.add(function)
        return any(draws(inner, model, seen) for inner in function.body.nodes)
    op = find(node.domain, node.op_type)
    if op is not None and op.is_random:
        return True
    return any(draws(inner, model, seen) for graph in node.subgraphs for inner in graph.nodes)


def disagreement(result: Model, sample: Sample) -> str:
    """How a rewritten model's results differ from the original's; empty when they do not."""
    try:
        outputs = Interpreter(result, limits=LIMITS, seed=SEED).run(sample.feeds.values)
    except SardonyxError as error:
        return f"it fails ({sample.feeds.what}): {error}"
    for name, expected in sample.outputs.items():
        if name not in outputs:
            return f"output {name!r} is missing"
        compare = kind_difference if name in sample.drawn else difference
        if why := compare(outputs[name], expected):
            return f"output {name!r} ({sample.feeds.what}): {why}"
    return ""


def guilty(
    sample: Sample, why: str, again: Callable[[int], Model], report: OptimizationReport
) -> OptimizationError:
    """The error that names the first edit after which results differ, found by bisection."""
    good, bad = 0, len(report.edits)
    while bad - good > 1:
        middle = (good + bad) // 2
        found = disagreement(again(middle), sample)
        if found:
            bad, why = middle, found
        else:
            good = middle
    assert report.edits, f"one model gives two results: {why}"
    edit = report.edits[bad - 1]
    return OptimizationError(why, edit=edit.number, name=edit.name, place=edit.place)
