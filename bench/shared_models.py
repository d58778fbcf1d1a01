"""How long do real models take that others have made, beside onnxruntime?

They stand in ../shared/models, with inputs and what onnxruntime 1.31.1 has answered to them.  Both engines run the same
file on the same inputs in one process, in turn, ours as a session does that is told nothing (`engine="auto"`).  Times
are medians, and what 10 % and 90 % of the runs stay below; a ratio is onnxruntime's time over ours, so that more than 1
is faster.  Differences are those from the stored answers, relative to the largest number of an output.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sardonyx as sx
from latency import header, line, ratio, tell
from optimizing import MODELS
from sardonyx._src.cli.peers import OURS, opened
from sardonyx._src.cli.timing import Timed, distance, in_turn
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RuntimeValue

PEER = "onnxruntime"
ENGINES = (OURS, PEER)
TURNS = 11
Feeds = dict[str, Array]
Call = Callable[[], Sequence[RuntimeValue]]


@dataclass(frozen=True)
class Case:
    """A model on so many threads: times by engine, or why an engine does not run it, and which of our engines ran."""

    name: str
    threads: int
    engine: str
    timed: Mapping[str, Timed]
    why: Mapping[str, str]

    @property
    def ratio(self) -> float:
        """The peer's time over ours; NaN where one of them is missing."""
        ours, theirs = self.timed.get(OURS), self.timed.get(PEER)
        return math.nan if ours is None or theirs is None else theirs.median / ours.median


def names() -> list[str]:
    """The models; none where the folder is not there."""
    return sorted(path.parent.name for path in MODELS.glob("*/model.onnx"))


def measured(wanted: Iterable[str], threads: Sequence[int], turns: int = TURNS) -> list[Case]:
    """Every model on every number of threads; prints a line for each engine."""
    return [case(name, n, turns) for name in wanted for n in threads]


def case(name: str, threads: int, turns: int) -> Case:
    found = Begun(MODELS / name / "model.onnx", threads, feeds_of(MODELS / name))
    outputs, answers = {tool: call() for tool, call in found.calls.items()}, answers_of(MODELS / name)
    samples = in_turn(found.calls, turns, lambda: None)
    timed = {tool: Timed(tool, threads, runs, off(outputs[tool], answers)) for tool, runs in samples.items()}
    made = Case(name, threads, found.engine, timed, found.why)
    for each in timed.values():
        tell(name, each, engine=made.engine if each.engine == OURS else PEER)
    return made


class Begun:
    """Engines that are ready: calls by engine, why others do not run the model, and which of our engines it is."""

    def __init__(self, path: Path, threads: int, feeds: Feeds) -> None:
        self.calls: dict[str, Call] = {}
        self.why: dict[str, str] = {}
        self.engine = ""
        for tool in ENGINES:
            try:
                call = self.ours(path, threads, feeds) if tool == OURS else peer(path, threads, feeds)
                call()
                self.calls[tool] = call
            except SardonyxError as error:
                self.why[tool] = " ".join(str(error).split())

    def ours(self, path: Path, threads: int, feeds: Feeds) -> Call:
        session = sx.Session(path, threads=threads)
        self.engine = session.engine
        return lambda: list(session.run(feeds).values())


def peer(path: Path, threads: int, feeds: Feeds) -> Call:
    run = opened(PEER, str(path), threads)
    return lambda: list(run(feeds))


# --- what is stored beside a model ----------------------------------------------------------


def feeds_of(folder: Path) -> Feeds:
    """Inputs by name."""
    return {name: text(one) if isinstance(one, dict) else one for name, one in recorded(folder, "in:")}


def answers_of(folder: Path) -> list[RuntimeValue]:
    """Outputs in the model's order; strings are arrays, and maps are dicts."""
    found = dict(recorded(folder, "out:"))
    each = [found[value.name] for value in sx.load(folder / "model.onnx").graph.outputs]
    return [text(one) if isinstance(one, dict) and "strings" in one else one for one in each]


def recorded(folder: Path, kind: str) -> list[tuple[str, Any]]:
    """Names and values of one kind, `in:` or `out:`, of both files that a folder may have."""
    with np.load(folder / "ref.npz") as archive:
        found: dict[str, Any] = dict(archive)
    other = folder / "ref.json"
    if other.exists():
        found |= json.loads(other.read_text())
    return [(name.removeprefix(kind), one) for name, one in found.items() if name.startswith(kind)]


def text(found: Mapping[str, Any]) -> Array:
    """An array of strings."""
    strings: Array = np.array(found["strings"], object)
    return strings.reshape(found["shape"])


def off(outputs: Sequence[RuntimeValue], answers: Sequence[RuntimeValue]) -> float:
    """The largest difference of outputs from the stored answers; infinite where strings or keys are others."""
    assert len(outputs) == len(answers), "an output has no stored answer"
    return max(map(one_off, outputs, answers))


def one_off(found: RuntimeValue, answer: RuntimeValue) -> float:
    match found, answer:
        case [list(), list()] if len(found) == len(answer):
            return max(map(one_off, found, answer), default=0.0)
        case [dict(), dict()] if found.keys() == answer.keys():
            return distance([numbers(found, answer)], [numbers(answer, answer)])
        case [np.ndarray(), np.ndarray()] if answer.dtype.kind == "O":
            return 0.0 if np.array_equal(found, answer) else math.inf
    return distance([found], [answer])


def numbers(found: Mapping[Any, Any], keys: Iterable[Any]) -> Array:
    return np.array([found[key] for key in keys], np.float32)


# --- the table ------------------------------------------------------------------------------


def section(cases: Sequence[Case] | None = None) -> str | None:
    """The table for docs/generated/benchmarks.md; None where the models are not there."""
    if cases is None:
        cases = measured(names(), [1, 2])
    return "\n\n".join([table(cases), means(cases)]) if cases else None


def table(cases: Iterable[Case]) -> str:
    columns = [f"{tool}, {what}" for tool in ENGINES for what in ("ms", "difference")]
    lines = [header("model", "engine", "threads", *columns, "ratio")]
    for one in cases:
        found = [part for tool in ENGINES for part in parts(one, tool)]
        lines.append(line(one.name, one.engine, one.threads, *found, ratio(one.ratio)))
    return "\n".join(lines)


def parts(one: Case, tool: str) -> tuple[str, str]:
    """Milliseconds of a run and the difference; or why there are none."""
    found = one.timed.get(tool)
    if found is None:
        return one.why[tool], ""
    median, low, high = (s * 1e3 for s in (found.median, found.quantile(0.1), found.quantile(0.9)))
    return f"{median:.3g} ({low:.3g} to {high:.3g})", f"{found.difference:.1e}"


def means(cases: Sequence[Case]) -> str:
    """The geometric mean of the ratios for each number of threads, and how many are above 1."""
    told = []
    for threads in sorted({one.threads for one in cases}):
        found = [one.ratio for one in cases if one.threads == threads and not math.isnan(one.ratio)]
        if found:
            mean = statistics.geometric_mean(found)
            faster = sum(value > 1 for value in found)
            told.append(f"{threads} threads: {mean:.2f} over {len(found)} models, {faster} of them above 1")
    return f"Geometric means of the ratios: {'; '.join(told)}."


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", help="these models, by commas")
    parser.add_argument("--threads", default="1,2", help="these numbers of threads (%(default)s)")
    parser.add_argument("--turns", type=int, default=TURNS, help="turns of each engine (%(default)s)")
    args = parser.parse_args()
    wanted = args.only.split(",") if args.only else names()
    print(section(measured(wanted, [int(n) for n in args.threads.split(",")], args.turns)))


if __name__ == "__main__":
    main()
