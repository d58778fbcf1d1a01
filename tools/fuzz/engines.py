"""A run of a model on both engines, compared: results that are close, or errors of one class."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from unittest.mock import patch

import numpy as np

import sardonyx as sx
from compile.guarded_programs import run_guarded
from fuzz.rulings import ruling_of
from fuzz.verdicts import DEFECT, DIFFERENCE, UNTYPED, Verdict, describe, fault, place_of, untyped
from sardonyx._src.errors import CompilationError, SardonyxError
from sardonyx._src.ir import Array, Model
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.registry import find
from sardonyx._src.runtime.runs.native_program import compile_for_host

LIMITS = sx.RunLimits(bytes=1 << 24, iterations=1000, nodes=10_000)
RTOL, ATOL = 1e-3, 1e-4  # of values that are right; a wrong window or stride gives others
NARROW_RTOL = {2: 1e-2, 1: 0.25}  # by bytes of a float
Outcome = Sequence[RuntimeValue] | Exception


# Lets this process compile by itself: other processes would not be held to its limits.
compile_in_process = partial(
    patch, "sardonyx._src.runtime.programs.async_compilation.available_cpus", return_value=1
)


def compare_engines(
    model: Model, feeds: Mapping[str, object], first: Mapping[str, object] | None = None
) -> Verdict:
    """The verdict on two runs of the native engine and one of the reference engine, with limits.

    first: feeds of the first run of the native engine, if they are others.
    """
    expected = run_model(model, feeds, "reference")
    with compile_in_process():
        actual = run_model(model, feeds, "native", first)
    for engine, result in (("reference", expected), ("native", actual)):
        if isinstance(result, CompilationError):
            cause = result.__cause__ or result
            signature = f"{result.stage}: {type(cause).__name__} in {place_of(cause)}"
            return fault(DEFECT, signature, describe(result))
        if isinstance(result, Exception) and not isinstance(result, SardonyxError):
            return untyped(result, engine)
    difference = find_difference(model, expected, actual)
    if difference is None:
        return Verdict("both engines refuse" if isinstance(expected, Exception) else "equal results")
    if ruling := ruling_of(
        model, feeds, expected, actual, lambda other: run_model(other, feeds, "reference")
    ):
        return Verdict(f"ruled: {ruling}")
    return fault(DIFFERENCE, *difference)


def find_difference(model: Model, expected: Outcome, actual: Outcome) -> tuple[str, str] | None:
    """The signature of a difference and what it is; None if there is none."""
    if isinstance(expected, Exception) or isinstance(actual, Exception):
        if type(expected) is type(actual):
            return None
        kinds = [type(x).__name__ if isinstance(x, Exception) else "a result" for x in (expected, actual)]
        texts = [describe(x) if isinstance(x, Exception) else "a result" for x in (expected, actual)]
        about = pattern_of(str(expected if isinstance(expected, Exception) else actual))
        return f"{kinds[0]}, natively {kinds[1]}: {about}", f"reference: {texts[0]}; native: {texts[1]}"
    if is_random(model):
        return None
    for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
        if not is_close(a, b):
            detail = f"output {i}: reference: {summarize(b)}; native: {summarize(a)}"
            return f"{operators_of(model)}: {difference_of(a, b)}", detail
    return None


def pattern_of(message: str) -> str:
    """A message without its location, numbers and names, which messages of one cause share."""
    text = message.rpartition(".node[")[2] if ".node[" in message else message
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "*", text.partition("; got ")[0])
    return re.sub(r"^(node\[)?#\] ?", "", re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", text))[:90]


def difference_of(a: object, b: object) -> str:
    """How two results differ, in a few words."""
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return "kinds or elements"
    if a.dtype != b.dtype:
        return "element types"
    return "elements" if a.shape == b.shape else "shapes"


def run_model(
    model: Model, feeds: Mapping[str, object], engine: str, first: Mapping[str, object] | None = None
) -> Outcome:
    """The outputs of a run, of the native engine of the second one, or what it raises.  first: see `compare_engines`."""
    try:
        session = sx.Session(model, engine=engine, limits=LIMITS, threads=1, seed=0)  # type: ignore[arg-type]
        if engine == "native" and first is None:
            session.run(feeds)
        elif engine == "native":
            with suppress(SardonyxError):  # of a subject that is about an error
                session.run(first)
        return list(session.run(feeds).values())
    except Exception as error:  # noqa: BLE001  # untyped ones are what this looks for
        return error


def is_random(model: Model) -> bool:
    operators = (find(node.domain, node.op_type) for node in nodes(model.graph))
    return any(operator is not None and operator.tolerance == "random" for operator in operators)


def operators_of(model: Model) -> str:
    """The operators of a model, the first few of many."""
    names = sorted({node.op_type for node in nodes(model.graph)})
    return " ".join(names[:4]) + (" ..." if len(names) > 4 else "")


def check_accesses(model: Model, feeds: Mapping[str, object]) -> Verdict | None:
    """Runs a model whose steps are native in the build with checked accesses; None if it has none, or all are right."""
    arrays = {name: value for name, value in feeds.items() if isinstance(value, np.ndarray)}
    executable = compile_for_host(model)
    program = executable.program
    if not program.steps or len(program.steps) < len(program.actions) or len(arrays) < len(feeds):
        return None
    try:
        run_guarded(executable, arrays, at_end=True, seed=0, checks=True)
    except AssertionError as error:
        return fault(UNTYPED, f"{operators_of(model)}: checked accesses", describe(error))
    return None


def is_close(a: object, b: object) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_close, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(is_close(a[key], b[key]) for key in a)
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return type(a) is type(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "iubOSU":
        return bool(np.array_equal(a, b))
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    try:
        return are_floats_close(a.astype(wide), b.astype(wide), NARROW_RTOL.get(a.dtype.itemsize, RTOL))
    except (TypeError, ValueError):
        return bool(a.tobytes() == b.tobytes())


def are_floats_close(a: Array, b: Array, rtol: float) -> bool:
    """Whether the finite numbers differ by little compared with the largest, and the others are the same."""
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(
        a[~finite], b[~finite], equal_nan=True
    ):
        return False
    scale = float(np.abs(b[finite]).max(initial=1.0))
    return bool((np.abs(a[finite] - b[finite]) <= rtol * np.abs(b[finite]) + ATOL * scale).all())


def summarize(value: object) -> str:
    if not isinstance(value, np.ndarray):
        return type(value).__name__
    return f"{value.dtype}{list(value.shape)} {value.reshape(-1)[:6].tolist()}"
