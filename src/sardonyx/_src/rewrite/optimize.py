"""`sx.optimize`: a model made smaller and faster by passes, and the proof that its results are the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from sardonyx._src.io.load import without_collection
from sardonyx._src.ir.clone import clone
from sardonyx._src.ir.graph import Model
from sardonyx._src.rewrite.driver import Budget, Driver
from sardonyx._src.rewrite.edit import GROWTH, Edit
from sardonyx._src.rewrite.pages import chosen
from sardonyx._src.rewrite.proof import prove
from sardonyx._src.rewrite.report import OptimizationReport, count_nodes


def optimize(
    model: Model,
    *,
    passes: Iterable[str] | None = None,
    skip: Iterable[str] = (),
    verify: bool = False,
    stop_after: int | None = None,
    seconds: float | None = None,
    growth: int = GROWTH,
    debug: bool = False,
    dims: Mapping[str, int] | None = None,
    report: OptimizationReport | None = None,
    progress: Callable[[int], None] | None = None,
) -> Model:
    """A copy of the model with fewer and cheaper nodes that computes the same; the model itself is left as it is.

    Runs the default passes, or those that `passes` names, less those in `skip`, until none finds anything to do, or
    until `stop_after` edits or `seconds` are spent.  Constants that are computed beforehand may add `growth` bytes.  Names of inputs and outputs, declared types, docs, metadata,
    functions and training graphs are kept; floats may round differently where an operator is merged into another.

    `verify` runs both models on generated inputs (`dims` fixes dimension variables) and raises OptimizationError,
    naming the guilty edit, where results differ.  `debug` holds the model to its invariants after every edit.
    `report` is filled in; `progress` is called with the number of edits so far.

    Raises InputError for a pass that does not exist, and what `infer` raises.
    """
    found = OptimizationReport() if report is None else report
    wanted = chosen(passes, skip)
    budget = Budget(stop_after, seconds, growth)
    result = rewritten(model, wanted, budget, found, debug=debug, progress=progress)
    if verify:

        def again(edits: int) -> Model:
            return rewritten(model, wanted, Budget(edits, growth=growth), OptimizationReport())

        prove(model, result, again, found, dims or {})
    return result


def rewritten(
    model: Model,
    passes: list[str],
    budget: Budget,
    report: OptimizationReport,
    *,
    debug: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Model:
    """A copy of the model after the passes."""
    start = time.perf_counter()
    report.nodes_before = count_nodes(model)
    result = clone(model)
    with without_collection():
        edit = Edit(result, budget.growth)
        Driver(edit, report, budget, debug, progress).run(passes)
        edit.facts.restore()
    report.nodes_after = count_nodes(result)
    report.seconds = time.perf_counter() - start
    return result
