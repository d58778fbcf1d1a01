"""The proof of a rewriting: the model before and after it run on generated inputs, and the guilty edit found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sardonyx.errors import OptimizationError, SardonyxError
from sardonyx.interp.interpreter import Interpreter
from sardonyx.ir.graph import Model
from sardonyx.ir.walk import nodes, roots
from sardonyx.ops.api import RunLimits, RuntimeValue
from sardonyx.ops.registry import find
from sardonyx.rewrite.compare import difference, kind_difference
from sardonyx.rewrite.feeds import Feeds, NotMade, generated
from sardonyx.rewrite.report import OptimizationReport

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
    is_random = draws(original.model)
    try:
        for feeds in generated(original.model, dims):
            try:
                outputs = original.run(feeds.values)
                other = Interpreter(original.model, limits=LIMITS, seed=SEED + 1) if is_random else None
                drawn = changing(outputs, other.run(feeds.values)) if other else frozenset()
            except SardonyxError as error:
                report.unproved = report.unproved or str(error)
                continue
            count += 1
            yield Sample(feeds, outputs, drawn)
            if count == SETS or time.perf_counter() - start > PATIENCE:
                return
    except NotMade as why:
        report.unproved = str(why)


def draws(model: Model) -> bool:
    """Whether a node of the model draws random numbers."""
    found = (find(n.domain, n.op_type) for root in roots(model) for n in nodes(root))
    return any(op is not None and op.is_random for op in found)


def changing(one: Outputs, other: Outputs) -> frozenset[str]:
    """The outputs that another seed changes; of those, kinds and shapes alone are compared."""
    return frozenset(name for name in one if difference(other[name], one[name]))


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
    edit = report.edits[bad - 1]
    return OptimizationError(why, edit=edit.number, name=edit.name, place=edit.place)
