"""Differential testing of a rewritten model against the original, with bisection to the first wrong edit."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import OptimizationError, SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Function, Model, Node, TensorType, Value
from sardonyx._src.ir.walk import captures
from sardonyx._src.ops.api import RunLimits, RuntimeValue
from sardonyx._src.ops.registry import find
from sardonyx._src.rewrite.proof.compare import difference, kind_difference
from sardonyx._src.rewrite.proof.feeds import Feeds, UnsupportedInput, generate_feeds
from sardonyx._src.rewrite.report import OptimizationReport

MAX_SAMPLES = 4  # samples that the original model accepts
PROOF_SECONDS = 30.0  # after this time no other sample is run
PROOF_LIMITS = RunLimits(bytes=1 << 31, iterations=100_000, nodes=10_000_000)
SEED = 1

Outputs = dict[str, RuntimeValue]


@dataclass(frozen=True, slots=True)
class Sample:
    """Inputs that the original model accepts, its outputs for them, and the names of outputs that depend on random draws."""

    feeds: Feeds
    outputs: Outputs
    random_outputs: frozenset[str]


def prove(
    model: Model,
    result: Model,
    rebuild: Callable[[int], Model],
    report: OptimizationReport,
    dims: Mapping[str, int],
) -> None:
    """Raise OptimizationError, naming the first wrong edit, if the results of a rewritten model differ.

    `rebuild` rewrites the original again and stops after n edits.  `report` receives the number of samples on which the
    models agree: 0 if the original rejects all generated inputs or cannot be run.
    """
    report.proved = 0
    try:
        original = Interpreter(model, limits=PROOF_LIMITS, seed=SEED)
    except SardonyxError as error:
        report.unproved = str(error)
        return
    for sample in samples(original, dims, report):
        if why := disagreement(result, sample):
            raise bisect(sample, why, rebuild, report)
        report.proved += 1


def samples(original: Interpreter, dims: Mapping[str, int], report: OptimizationReport) -> Iterator[Sample]:
    """Up to MAX_SAMPLES samples of the original model; if there is none, the report says why."""
    start, count = time.perf_counter(), 0
    at_random = random_outputs(original.model)
    try:
        for feeds in generate_feeds(original.model, dims):
            before = pickle.dumps(original.random_source().get_state())
            try:
                outputs = original.run(feeds.values)
            except SardonyxError as error:
                report.unproved = report.unproved or str(error)
                continue
            if why := broken_declaration(original.model, outputs):
                report.unproved = report.unproved or why
                continue
            has_drawn = pickle.dumps(original.random_source().get_state()) != before
            count += 1
            yield Sample(feeds, outputs, at_random if has_drawn else frozenset())
            if count == MAX_SAMPLES or time.perf_counter() - start > PROOF_SECONDS:
                return
    except UnsupportedInput as why:
        report.unproved = str(why)


def broken_declaration(model: Model, outputs: Outputs) -> str:
    """How results contradict the declared types of outputs; empty if they do not.  Passes rely on these types."""
    for value in model.graph.outputs:
        result, declared = outputs[value.name], value.type
        if (
            not isinstance(declared, TensorType)
            or declared.shape is None
            or not isinstance(result, np.ndarray)
        ):
            continue
        pairs = zip(declared.shape, result.shape, strict=False)
        sizes_differ = any(isinstance(d, int) and d != size for d, size in pairs)
        if sizes_differ or len(declared.shape) != result.ndim or declared.dtype.numpy != result.dtype:
            return f"output {value.name!r} is declared as {declared}; got {result.dtype}{list(result.shape)}"
    return ""


def random_outputs(model: Model) -> frozenset[str]:
    """The outputs that may depend on random draws; only their kinds and shapes are compared."""
    reached: set[Value] = set()
    for node in model.graph.nodes:
        read = {v for v in node.inputs if v is not None}.union(*(captures(g) for g in node.subgraphs))
        if not read.isdisjoint(reached) or may_draw(node, model, set()):
            reached.update(node.outputs)
    return frozenset(v.name for v in model.graph.outputs if v in reached)


def may_draw(node: Node, model: Model, seen: set[Function]) -> bool:
    """Whether a node may draw random numbers itself, in its subgraphs, or in the function that it calls."""
    function = model.functions.get((node.domain, node.op_type, node.overload))
    if function is not None:
        if function in seen:
            return False
        seen.add(function)
        return any(may_draw(inner, model, seen) for inner in function.body.nodes)
    op = find(node.domain, node.op_type)
    if op is not None and op.is_random:
        return True
    return any(may_draw(inner, model, seen) for graph in node.subgraphs for inner in graph.nodes)


def disagreement(result: Model, sample: Sample) -> str:
    """How the results of a rewritten model differ from the original's; empty if they do not."""
    try:
        outputs = Interpreter(result, limits=PROOF_LIMITS, seed=SEED).run(sample.feeds.values)
    except SardonyxError as error:
        return f"it fails ({sample.feeds.description}): {error}"
    for name, expected in sample.outputs.items():
        if name not in outputs:
            return f"output {name!r} is missing"
        compare = kind_difference if name in sample.random_outputs else difference
        if why := compare(outputs[name], expected):
            return f"output {name!r} ({sample.feeds.description}): {why}"
    return ""


def bisect(
    sample: Sample, why: str, rebuild: Callable[[int], Model], report: OptimizationReport
) -> OptimizationError:
    """The error for the first edit after which results differ, found by bisection."""
    good, bad = 0, len(report.edits)
    while bad - good > 1:
        middle = (good + bad) // 2
        difference = disagreement(rebuild(middle), sample)
        if difference:
            bad, why = middle, difference
        else:
            good = middle
    assert report.edits, f"two runs of one model differ: {why}"
    edit = report.edits[bad - 1]
    return OptimizationError(why, edit=edit.number, name=edit.name, place=edit.place)
