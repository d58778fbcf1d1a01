"""Comparison of both engines, run by run, on models whose sizes are not kind."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

import sardonyx as sx
from compile.guarded_programs import run_guarded
from compile.reference_agreement import results
from compile.unkind_graphs import UnkindModel
from fuzz.rulings import ruling_of
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Array, Model

TOLERANCE = 1e-4  # of rounded values, relative to the largest element; what is wrong is wrong by more
ULP = 2.0**-23  # of float32, by which inputs are perturbed
PERTURBATIONS = 4
MAX_AMPLIFICATION = 16  # of the change that perturbed inputs make: nodes round their results, too
LIMITS = sx.RunLimits(bytes=1 << 26, iterations=1000, nodes=10_000)
Feeds = Mapping[str, Array]
Outcome = Mapping[str, Array] | SardonyxError


@dataclass(frozen=True)
class Runs:
    """A model with sets of feeds.

    valid: the number of feeds at the beginning that the model was generated for.  exact: the outputs of which all engines
    compute the same numbers.  is_sound: whether the other values are nearly the same in float32 and float64.
    """

    model: Model
    feeds: Sequence[Feeds]
    valid: int
    exact: Collection[str] = field(default_factory=frozenset)
    is_sound: bool = True

    @classmethod
    def of(cls, sample: UnkindModel) -> Runs:
        exact = frozenset(name for name, value in sample.outputs.items() if value.is_exact)
        return cls(sample.model, [*sample.feeds, *sample.contradictions], len(sample.feeds), exact)

    def order(self) -> Iterator[int]:
        """The feeds of a session's runs: sizes forwards and backwards, then contradictions, each followed by valid feeds."""
        yield from range(self.valid)
        yield from reversed(range(self.valid - 1))
        for i in range(self.valid, len(self.feeds)):
            yield i
            if self.valid:
                yield i % self.valid


@dataclass(frozen=True)
class Disagreement:
    """kind: what differs, such as elements, or the errors of both engines.  where: the operator of the output, and when it
    differs.  detail: the numbers."""

    kind: str
    where: str
    detail: str


def find_disagreement(runs: Runs, threads: Sequence[int] = (1, 2)) -> Disagreement | None:
    """The first run in which the native engine has other results, or another error, than the reference engine."""
    reference = sx.Session(runs.model, engine="reference", limits=LIMITS)
    expected = [outcome(reference, feeds) for feeds in runs.feeds]
    for count in threads:
        session = sx.Session(runs.model, engine="native", threads=count, limits=LIMITS)
        seen: set[int] = set()
        for index in runs.order():
            actual = outcome(session, {name: array.copy() for name, array in runs.feeds[index].items()})
            difference = find_difference(runs, expected[index], actual)
            if difference is not None and not is_allowed(runs, index, expected[index], actual):
                is_contradiction = index >= runs.valid or isinstance(expected[index], SardonyxError)
                moment = "a contradiction" if is_contradiction else "again" if index in seen else "new sizes"
                detail = f"{count} threads, feeds {index}: {difference.detail}"
                return Disagreement(difference.kind, f"{difference.where}, {moment}".lstrip(", "), detail)
            seen.add(index)
    return None


def outcome(session: sx.Session, feeds: Feeds) -> Outcome:
    try:
        return results(session, feeds)
    except SardonyxError as error:
        return error


def find_difference(runs: Runs, expected: Outcome, actual: Outcome) -> Disagreement | None:
    if isinstance(expected, SardonyxError) or isinstance(actual, SardonyxError):
        if type(expected) is type(actual):
            return None
        a, b = (type(x).__name__ if isinstance(x, SardonyxError) else "a result" for x in (expected, actual))
        return Disagreement(f"{a}, natively {b}", "", str(expected if b == "a result" else actual))
    for value in runs.model.graph.outputs:
        x, right = actual[value.name], expected[value.name]
        operator = "an input" if value.producer is None else value.producer.op_type
        if x.shape != right.shape or x.dtype != right.dtype:
            detail = f"{value.name}: {x.dtype}{list(x.shape)} must be {right.dtype}{list(right.shape)}"
            return Disagreement("type", operator, detail)
        if not are_close(x, right, exact=value.name in runs.exact):
            return Disagreement("elements", operator, f"{value.name}: {describe(x, right)}")
    return None


def is_allowed(runs: Runs, index: int, expected: Outcome, actual: Outcome) -> bool:
    """Whether a difference is one of rounding, or one that the documentation allows."""
    if isinstance(expected, SardonyxError) or isinstance(actual, SardonyxError) or runs.is_sound:
        return is_ruled(runs, index, expected, actual)
    return is_rounding(runs, index, expected, actual) or is_ruled(runs, index, expected, actual)


def is_rounding(runs: Runs, index: int, expected: Mapping[str, Array], actual: Mapping[str, Array]) -> bool:
    """Whether inputs that are rounded otherwise change the results of the reference engine nearly as much."""
    rng, session = np.random.default_rng(index), sx.Session(runs.model, engine="reference", limits=LIMITS)
    margins = {
        name: TOLERANCE * max(1.0, float(np.abs(x).max(initial=0)))
        for name, x in expected.items()
        if x.dtype.kind == "f"
    }
    for _ in range(PERTURBATIONS):
        feeds = {
            name: x * (1 + rng.choice((-1, 1), x.shape) * ULP).astype(x.dtype) if x.dtype.kind == "f" else x
            for name, x in runs.feeds[index].items()
        }
        results = outcome(session, feeds)
        if not isinstance(results, dict) or any(results[n].shape != expected[n].shape for n in margins):
            return False
        for name in margins:
            change = np.abs(results[name] - expected[name]).max(initial=0)
            margins[name] = max(margins[name], MAX_AMPLIFICATION * float(change))
    return all(
        x.shape == actual[n].shape and bool((np.abs(actual[n] - x) <= margins[n]).all())
        if n in margins
        else np.array_equal(actual[n], x)
        for n, x in expected.items()
    )


def is_ruled(runs: Runs, index: int, expected: Outcome, actual: Outcome) -> bool:
    """Whether a difference is one that the documentation allows."""
    values = [x if isinstance(x, SardonyxError) else list(x.values()) for x in (expected, actual)]

    def run_reference(model: Model) -> list[Array] | SardonyxError:
        result = outcome(sx.Session(model, engine="reference", limits=LIMITS), runs.feeds[index])
        return result if isinstance(result, SardonyxError) else list(result.values())

    return bool(ruling_of(runs.model, runs.feeds[index], values[0], values[1], run_reference))


def are_close(actual: Array, expected: Array, *, exact: bool) -> bool:
    if exact or expected.dtype.kind != "f":
        return bool(np.array_equal(actual, expected, equal_nan=expected.dtype.kind == "f"))
    finite = np.isfinite(expected)
    if not np.array_equal(actual[~finite], expected[~finite], equal_nan=True):
        return False
    largest = float(np.abs(expected[finite]).max(initial=1))
    return bool((np.abs(actual[finite] - expected[finite]) <= TOLERANCE * largest).all())


def describe(actual: Array, expected: Array) -> str:
    """How many elements differ, and the first that does."""
    with np.errstate(all="ignore"):
        differs = ~np.isclose(actual, expected, 1e-6, 1e-6, equal_nan=True)
    first = tuple(int(i) for i in np.argwhere(differs)[0]) if differs.any() else ()
    count, shape = int(differs.sum()), list(expected.shape)
    return f"{count} of {shape} differ; at {first} {actual[first]} must be {expected[first]}"


def find_stray_access(runs: Runs, index: int, *, at_end: bool) -> Disagreement | None:
    """A difference in a run between guard pages; an access of a guard page ends the process.

    at_end: whether buffers end at a guard page, and not begin after one.
    """
    expected = outcome(sx.Session(runs.model, engine="reference", limits=LIMITS), runs.feeds[index])
    try:
        actual = run_guarded(
            compile_model(runs.model, host_target()), runs.feeds[index], at_end=at_end, seed=0
        )
    except SardonyxError:
        return None  # of a fallback operation
    if actual is None or isinstance(expected, SardonyxError):
        return None
    difference = find_difference(runs, expected, actual)
    return difference and Disagreement(
        difference.kind, f"{difference.where}, between guard pages", difference.detail
    )
