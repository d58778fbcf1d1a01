"""The verdict on a variant of a network: one session of each kind runs its sizes forwards and backwards.

Judges are torch, whose outputs and gradients are stored with the exports, the reference engine and onnxruntime.  The
tolerance of floats is that of `sardonyx compare`: relative to the largest element of the tensor, by element type.  To that of
a gradient, a multiple of the error of torch's own gradient in float32 is added: one that cancels, as that of a bias in front
of a norm, consists of rounding errors of the terms of its sum, which are far larger.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import onnxruntime

import sardonyx as sx
from model_zoo.exports import FOLDER, Export, NotExported, Values, export, values_of
from model_zoo.registry import Array, Network
from model_zoo.rewriting import LOSS, rewrite
from sardonyx._src.compile.program.steps.program import FallbackOp
from sardonyx._src.rewrite.proof.compare import MIN_MAGNITUDE, difference, relative_tolerance
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.session.session_origin import Engine
from sardonyx.errors import InvalidModel, SardonyxError, ShapeWarning

os.environ.setdefault("SARDONYX_CACHE", str(FOLDER / "cache"))  # not the user's
os.environ.setdefault("SARDONYX_FATAL_DEFECTS", "1")  # runs the compiler's verifier as well
# Of the sets of sizes in one session; a repeated one runs on the fast path.
ORDER = (0, 0, 1, 2, 3, 3, 2, 1, 0)
# Tolerance of a gradient, in errors of torch in float32: other orders of sums round otherwise.
ROUNDING_FACTOR = 8
Outputs = Mapping[str, object]


@dataclass(frozen=True)
class Variant:
    """A file of a network.  rewriter: a key of REWRITERS."""

    export: Export
    rewriter: str = ""

    def __str__(self) -> str:
        return f"{self.export}" + (f", {self.rewriter}" if self.rewriter else "")

    @property
    def numbers(self) -> tuple[int, ...]:
        """The sets of sizes that its sessions run, in order."""
        return ORDER if self.export.fixed is None else (self.export.fixed,) * 2


@dataclass
class Verdict:
    """What became of a variant.

    missing: why there is no file; "" if there is one.  faults: what is wrong, empty if all is right.  fallbacks: operators of
    nodes that run as reference kernels.  onnxruntime: why it cannot run the file; "" if it agrees.  seconds: processor time.
    """

    variant: str
    missing: str = ""
    faults: list[str] = field(default_factory=list)
    fallbacks: list[str] = field(default_factory=list)
    onnxruntime: str = ""
    seconds: float = 0.0


def judge(network: Network, variant: Variant) -> Verdict:
    start = processor_seconds()
    verdict = judge_variant(network, variant)
    verdict.seconds = round(processor_seconds() - start, 2)
    return verdict


def processor_seconds() -> float:
    """Of this process and of the compiler's processes that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def judge_variant(network: Network, variant: Variant) -> Verdict:
    verdict = Verdict(str(variant))
    try:
        path = rewrite(network, variant.export, variant.rewriter)
    except NotExported as error:
        verdict.missing = str(error)
        return verdict
    except Exception as error:  # noqa: BLE001  # a defect has any type
        verdict.faults = [f"{variant.rewriter}: {describe(error)}"]
        path = None
    values = {number: values_of(network, number) for number in sorted(set(variant.numbers))}
    if path is not None:
        Judgement(path, variant, values, verdict).run()
    if verdict.faults and (reason := invalid_export(network, variant, values)):
        return Verdict(str(variant), missing=reason)
    return verdict


def invalid_export(network: Network, variant: Variant, values: Mapping[int, Values]) -> str:
    """Why the file that torch wrote is wrong before anything rewrites it; "" if it is not.

    It is not ONNX, or neither engine can run it, or both compute the same, which is not what torch computes.  Both exporters
    write constants in some places where sizes differ from run to run, and TorchScript loses the sums of index_add.
    """
    path = export(network, variant.export)
    for number, each in values.items():
        feeds = feeds_of(path, each)
        theirs = run_onnxruntime(path, feeds)
        try:
            with warnings.catch_warnings(action="ignore"):
                ours = sx.Session(path, engine="reference").run(feeds)
        except SardonyxError as error:
            if isinstance(error, InvalidModel) or isinstance(theirs, str):
                return f"invalid for sizes {number}: {describe(error)}"
            continue
        right = dict(zip(ours, each.outputs, strict=True))
        wrong = next(differences(ours, right, {}), "")
        if wrong and not isinstance(theirs, str) and not any(differences(theirs, ours, {})):
            return f"not what torch computes for sizes {number}: {wrong}"
    return ""


def run_onnxruntime(path: Path, feeds: Mapping[str, Array]) -> Outputs | str:
    """The outputs, or an error."""
    try:
        session = onnxruntime_session(path)
        return dict(zip((x.name for x in session.get_outputs()), session.run(None, feeds), strict=True))
    except Exception as error:  # noqa: BLE001  # its exceptions have no common base
        return describe(error)


@lru_cache(maxsize=1)  # for the next sizes
def onnxruntime_session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def feeds_of(path: Path, values: Values) -> dict[str, Array]:
    """Inputs that the file still has."""
    names = {x.name for x in sx.load(path).graph.inputs}
    return {name: array for name, array in values.feeds.items() if name in names}


class Judgement:
    """Runs of all sessions on one file, and the comparisons of their outputs."""

    def __init__(self, path: Path, variant: Variant, values: Mapping[int, Values], verdict: Verdict) -> None:
        self.path, self.variant, self.values, self.verdict = path, variant, values, verdict
        self.gradient = variant.rewriter == "gradient"
        self.feeds = {number: feeds_of(path, each) for number, each in values.items()}

    def run(self) -> None:
        try:
            with warnings.catch_warnings(action="ignore"):
                reference = sx.Session(self.path, engine="reference")
                self.expected = {number: reference.run(feed) for number, feed in self.feeds.items()}
        except Exception as error:  # noqa: BLE001  # a defect has any type
            self.verdict.faults.append(f"reference: {describe(error)}")
            return
        for number, outputs in self.expected.items():
            self.compare_with_torch(number, outputs)
        self.compare_with_onnxruntime()
        first = self.run_session("native", 1)
        second = self.run_session("native", 2)
        self.run_session("auto", 1)
        for i, (one, two) in enumerate(zip(first, second, strict=False)):
            self.report(f"threads 2, run {i}", self.unequal_bits(one, two))

    def report(self, what: str, faults: Iterator[str] | Sequence[str]) -> None:
        self.verdict.faults += [f"{what}: {fault}" for fault in faults]

    def differences(self, outputs: Outputs, number: int) -> Iterator[str]:
        """How outputs for a set of sizes differ from those of the reference engine."""
        return differences(outputs, self.expected[number], self.values[number].roundings)

    def compare_with_torch(self, number: int, outputs: Outputs) -> None:
        values = self.values[number]
        names = list(outputs)
        pairs: dict[str, object] = {names[i]: output for i, output in enumerate(values.outputs)}
        if self.gradient:
            pairs[LOSS] = outputs[LOSS]
            gradients = {f"{name}_gradient": array for name, array in values.gradients.items()}
            pairs |= {name: gradients[name] for name in names if name in gradients}
        self.report(f"reference beside torch, sizes {number}", differences(outputs, pairs, values.roundings))

    def compare_with_onnxruntime(self) -> None:
        """Notes why it cannot run the file, or how it differs from the reference engine."""
        for number, feed in self.feeds.items():
            outputs = run_onnxruntime(self.path, feed)
            if isinstance(outputs, str):
                self.verdict.onnxruntime = outputs
                return
            faults = list(self.differences(outputs, number))
            self.verdict.onnxruntime = self.verdict.onnxruntime or "; ".join(faults)

    def run_session(self, engine: Engine, threads: int) -> list[Outputs]:
        """The outputs of each run of a session, compared with those of the reference engine."""
        what = f"{engine}, threads {threads}"
        results: list[Outputs] = []
        try:
            with warnings.catch_warnings(action="error"):
                warnings.simplefilter("ignore", ShapeWarning)  # exporters declare sizes of the export
                session = sx.Session(self.path, engine=engine, threads=threads)
                for i, number in enumerate(self.variant.numbers):
                    results.append(session.run(self.feeds[number]))
                    place = f"{what}, run {i} (sizes {number})"
                    self.report(place, self.differences(results[-1], number))
        except Exception as error:  # noqa: BLE001  # warnings and defects, which have any type
            self.report(what, [describe(error)])
            return results
        self.note_statistics(what, session)
        return results

    def note_statistics(self, what: str, session: sx.Session) -> None:
        """Bailouts and defects are faults; fallback operations are noted."""
        stats = session.stats
        if stats.bailouts:
            self.report(what, [f"bailouts {dict(stats.bailouts)}"])
        if session.engine != "native" or stats.compiler_faults:
            self.report(what, [f"ran on {session.engine}, defects {dict(stats.compiler_faults)}"])
        runner = session._runner
        if isinstance(runner, NativeEngine) and stats.fallback_nodes:
            actions = runner.natives[0].program.actions
            self.verdict.fallbacks = [x.node.op_type for x in actions if isinstance(x, FallbackOp)]

    def unequal_bits(self, one: Outputs, two: Outputs) -> Iterator[str]:
        for name, array in one.items():
            if np.asarray(array).tobytes() != np.asarray(two[name]).tobytes():
                yield f"{name} has other bits than on one thread"


def differences(actual: Outputs, expected: Outputs, roundings: Mapping[str, float]) -> Iterator[str]:
    """How outputs differ beyond their tolerances.  roundings: of gradients by the name of the input or weight."""
    for name, value in expected.items():
        if name == LOSS:  # a sum of numbers of both signs
            continue
        right, tolerance = np.asarray(value), None
        if LOSS in expected and (rounding := roundings.get(name.removesuffix("_gradient"))):
            largest = max(float(np.abs(right).max(initial=0)), MIN_MAGNITUDE)
            tolerance = relative_tolerance(right.dtype) + ROUNDING_FACTOR * rounding / largest
        if why := difference(np.asarray(actual[name]), right, tolerance):
            yield f"{name}: {why}"


def describe(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:400]
