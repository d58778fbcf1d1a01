"""Random graphs whose sizes are not kind, run by run on both engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compile.kernel_objects import quick_kernels
from compile.unkind_agreement import Runs, find_disagreement, find_stray_access
from compile.unkind_gradients import gradient_sample, with_gradients
from compile.unkind_models import sample
from fuzz.engines import compile_in_process
from fuzz.verdicts import DEFECT, DIFFERENCE, Verdict, describe, fault, place_of, untyped
from fuzz.workers import Judge
from grad.checking import check_case
from grad.differentiable_models import SourceCase
from sardonyx._src.errors import CompilationError, SardonyxError

TWO_THREADS_EVERY, GUARDED_EVERY, DIFFERENCES_EVERY = 3, 7, 10  # graphs


def unkind_judge() -> Judge:
    """Judges case i: the graph with seed i has the same results on both engines, in sizes forwards and backwards."""
    return lambda seed: verdict_on(graph_runs(seed), seed)


def graph_runs(seed: int) -> Runs:
    """The runs of case i of the campaign."""
    return Runs.of(sample(seed))


def verdict_on(runs: Runs, seed: int) -> Verdict:
    """The verdict on runs with one or two threads, and some of them between guard pages too."""
    try:
        with compile_in_process(), quick_kernels():
            disagreement = find_disagreement(runs, (1, 2) if seed % TWO_THREADS_EVERY == 0 else (1,))
            if disagreement is None and seed % GUARDED_EVERY == 0:
                index = seed // GUARDED_EVERY % len(runs.feeds)
                disagreement = find_stray_access(runs, index, at_end=seed % 2 == 0)
    except CompilationError as error:
        cause = error.__cause__ or error
        return fault(DEFECT, f"{type(cause).__name__} in {place_of(cause)}: {error.stage}", describe(error))
    except SardonyxError as error:
        return fault(DIFFERENCE, f"{type(error).__name__} of a valid graph:", describe(error))
    except Exception as error:  # noqa: BLE001
        return untyped(error, "unkind graph")
    if disagreement is None:
        return Verdict("agrees")
    return fault(DIFFERENCE, f"{disagreement.kind}: {disagreement.where}", disagreement.detail)


def unkind_gradient_judge() -> Judge:
    """Judges case i: the gradients of the graph with seed i are the same on both engines, and some are central differences."""

    def judge(seed: int) -> Verdict:
        runs = gradient_runs(seed)
        verdict = verdict_on_gradients(runs, seed)
        return (
            verdict if verdict.fault or seed % DIFFERENCES_EVERY else compare_with_differences(runs, verdict)
        )

    return judge


def gradient_runs(seed: int) -> Runs:
    """The runs of the graph that case i of the campaign differentiates."""
    return Runs.of(gradient_sample(seed))


def verdict_on_gradients(runs: Runs, seed: int) -> Verdict:
    """The verdict on the runs that also compute gradients."""
    try:
        derived = with_gradients(runs)
    except SardonyxError as error:
        return Verdict(f"no gradient: {type(error).__name__}")
    return verdict_on(derived, seed)


def compare_with_differences(runs: Runs, verdict: Verdict) -> Verdict:
    """The verdict, or that on gradients of the first run which are no central differences."""
    case = SourceCase("random graph", "random graph", lambda: (runs.model, {**runs.feeds[0]}))
    try:
        checked = check_case(case)
    except SardonyxError:
        return verdict
    if checked.kind == "wrong":
        return fault(DIFFERENCE, "gradients are no central differences:", checked.reason)
    return Verdict(f"{verdict.outcome}, {checked.kind}")


@dataclass(frozen=True)
class ReducibleCampaign:
    """load: the runs of a case, which may shrink.  judge: of runs, as those of a case.  change: what is done to runs before."""

    load: Callable[[int], Runs]
    judge: Callable[[Runs, int], Verdict]
    change: Callable[[Runs], Runs]


REDUCIBLE = {
    "unkind-graphs": ReducibleCampaign(graph_runs, verdict_on, lambda runs: runs),
    "unkind-gradients": ReducibleCampaign(gradient_runs, verdict_on_gradients, with_gradients),
}
