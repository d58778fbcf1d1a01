"""`sx.optimize`: run rewriting passes on a model, and verify that its results are unchanged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from sardonyx._src.arguments import (
    require_flag,
    require_integer,
    require_mapping,
    require_number,
    type_name,
)
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.ir import Model
from sardonyx._src.ir.model import clone
from sardonyx._src.rewrite.engine.driver import Budget, Driver
from sardonyx._src.rewrite.engine.edit import DEFAULT_GROWTH_BYTES, Edit
from sardonyx._src.rewrite.own_passes import drop_imports, import_domains
from sardonyx._src.rewrite.pages import select_passes
from sardonyx._src.rewrite.report import Optimization, OptimizationReport, count_nodes
from sardonyx._src.rewrite.support.evaluate import Evaluate, evaluate_node


def optimize(
    model: ModelSource,
    *,
    passes: Iterable[str] | None = None,
    skip: Iterable[str] = (),
    verify: bool = False,
    stop_after: int | None = None,
    seconds: float | None = None,
    growth: int = DEFAULT_GROWTH_BYTES,
    result_growth: int | None = None,
    debug: bool = False,
    dims: Mapping[str, int] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Model:
    """Return an equivalent copy of the model with fewer and cheaper nodes; the model itself is unchanged.

    Runs all passes, or those in `passes`, minus those in `skip`, to a fixpoint or until `stop_after` edits or `seconds`
    are spent.  Folded constants may add `growth` bytes, one of them `result_growth` (by default a 64th of that).
    Names of inputs and outputs, declared types, docs, metadata, functions and training graphs are kept; floats may round
    differently where operators are fused.  The meaning of Gradient nodes depends on the graph, so that they are replaced by
    the operators that compute them, in the newest operator sets.

    `verify` runs both models on generated inputs (`dims` fixes dimension variables) and raises OptimizationError,
    naming the first wrong edit, if results differ.  `debug` verifies the model's invariants after every edit.
    `progress` is called with the number of edits so far.  `sx.tools.optimize_with_report` also returns what was done.

    Raises InputError for a pass that does not exist, and what `infer` raises.
    """
    return optimize_with_report(
        model,
        passes=passes,
        skip=skip,
        verify=verify,
        stop_after=stop_after,
        seconds=seconds,
        growth=growth,
        result_growth=result_growth,
        debug=debug,
        dims=dims,
        progress=progress,
    ).model


def optimize_with_report(
    model: ModelSource,
    *,
    passes: Iterable[str] | None = None,
    skip: Iterable[str] = (),
    verify: bool = False,
    stop_after: int | None = None,
    seconds: float | None = None,
    growth: int = DEFAULT_GROWTH_BYTES,
    result_growth: int | None = None,
    debug: bool = False,
    dims: Mapping[str, int] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Optimization:
    """As `sx.optimize`, but also returns the edits of each pass, their times and the extent of the verification."""
    from sardonyx._src.rewrite.proof.prove import prove  # lazy: few runs are verified

    model = resolve_model(model)
    check_options(verify, stop_after, seconds, growth, result_growth, debug, dims, progress)
    model = without_gradient_nodes(model)
    report = OptimizationReport()
    selected = select_passes(passes, skip)
    budget = Budget(stop_after, seconds, growth, result_growth)
    result = run_passes(model, selected, budget, report, debug=debug, progress=progress)
    if verify:

        def rebuild(edits: int) -> Model:
            limits = Budget(edits, growth=growth, result_growth=result_growth)
            return run_passes(model, selected, limits, OptimizationReport())

        prove(model, result, rebuild, report, dims or {})
    return Optimization(result, report)


def check_options(
    verify: bool,
    stop_after: int | None,
    seconds: float | None,
    growth: int,
    result_growth: int | None,
    debug: bool,
    dims: Mapping[str, int] | None,
    progress: Callable[[int], None] | None,
) -> None:
    """Raises TypeError or InputError for an invalid argument of `optimize`."""
    require_flag("verify", verify)
    require_integer("stop_after", stop_after, optional=True)
    require_number("seconds", seconds, optional=True)
    require_integer("growth", growth)
    require_integer("result_growth", result_growth, optional=True)
    require_flag("debug", debug)
    if dims is not None:
        require_mapping("dims", dims, str, (int, np.integer), "names of dims to lengths")
        for name, length in dims.items():
            require_integer(f"dims[{name!r}]", length, 0)
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a function of the number of edits; got {type_name(progress)}")


def run_passes(
    model: Model,
    passes: list[str],
    budget: Budget,
    report: OptimizationReport,
    *,
    debug: bool = False,
    progress: Callable[[int], None] | None = None,
    evaluate: Evaluate = evaluate_node,
) -> Model:
    """A copy of the model, rewritten by the passes.  evaluate: evaluates nodes on constants."""
    start = time.perf_counter()
    report.nodes_before = count_nodes(model)
    result = clone(model)
    with pause_gc():
        added = import_domains(result, passes)
        edit = Edit(result, budget.growth, budget.result_growth, evaluate)
        Driver(edit, report, budget, debug, progress).run(passes)
        edit.facts.restore()
        drop_imports(result, added)
    report.nodes_after = count_nodes(result)
    report.seconds = time.perf_counter() - start
    return result
