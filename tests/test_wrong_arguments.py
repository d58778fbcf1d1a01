"""Wrong arguments, over every public callable: what is not accepted is an error of ours, and says what is expected.

The policy is in docs/errors.md: TypeError for an argument of a wrong Python type, an error of `sardonyx.errors` for all else.
"""

from __future__ import annotations

import enum
import inspect
import io
import linecache
import math
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from public_face import CALLS, public_callables

SOURCES = str(Path(sx.__file__).parent)
WRONG: dict[str, Callable[[], object]] = {
    "none": lambda: None,
    "zero": lambda: 0,
    "three": lambda: 3,
    "minus-one": lambda: -1,
    "2**63": lambda: 2**63,
    "2**70": lambda: 2**70,
    "-2**63": lambda: -(2**63),
    "float": lambda: 1.5,
    "nan": lambda: math.nan,
    "infinity": lambda: math.inf,
    "true": lambda: True,
    "object": object,
    "type": lambda: int,
    "function": lambda: lambda: None,
    "bytes": lambda: b"bogus",
    "empty": lambda: "",
    "bogus": lambda: "bogus",
    "surrogate": lambda: "\ud800",
    "nul": lambda: "a\0b",
    "path-with-nul": lambda: Path("a\0b"),
    "directory": lambda: Path(),
    "missing": lambda: Path("missing/missing.onnx"),
    "list": list,
    "list-of-none": lambda: [None],
    "list-of-objects": lambda: [object()],
    "list-of-strings": lambda: ["bogus"],
    "list-of-lists": lambda: [[]],
    "tuple": lambda: (),
    "dict": dict,
    "dict-of-numbers": lambda: {1: 2},
    "dict-of-objects": lambda: {"bogus": object()},
    "dict-of-inputs": lambda: {"x": object()},
    "set": lambda: {1},
    "generator": lambda: (i for i in (1, 2)),
    "array": lambda: np.zeros((2, 2)),
    "objects": lambda: np.array([object()]),
    "stream": io.BytesIO,
    "text-stream": io.StringIO,
    "model": lambda: sx.Model(sx.Builder(21).graph, ir_version=10, opset_imports={"": 21}),
}


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_public_callable_has_valid_arguments() -> None:
    assert set(public_callables()) == set(CALLS)


def test_every_argument_of_a_function_is_tried() -> None:
    for name, make in CALLS.items():
        call = make()
        if inspect.isclass(call.function):
            continue  # records of many fields: those that are checked
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        parameters = inspect.signature(call.function).parameters.values()
        expected = {parameter.name for parameter in parameters if parameter.kind in kinds}
        assert expected <= {argument.lstrip("*") for argument in call.arguments}, name


@pytest.mark.parametrize("name", sorted(CALLS))
def test_wrong_arguments_are_refused_by_name(name: str) -> None:
    call = CALLS[name]()
    invoke(call.function, call.arguments)
    for parameter in call.arguments:
        for kind, wrong in WRONG.items():
            call = CALLS[name]()
            error = error_of(call.function, {**call.arguments, parameter: wrong()})
            if error is not None and not is_deliberate(error):
                pytest.fail(
                    f"{name}({parameter}={kind}): {''.join(traceback.format_exception(error))}", pytrace=False
                )


@pytest.mark.parametrize("name", sorted(name for name in CALLS if name.startswith("sardonyx.backend.")))
def test_unknown_options_of_backends_are_refused(name: str) -> None:
    call = CALLS[name]()
    error = error_of(call.function, {**call.arguments, "bogus": 1})
    assert isinstance(error, sx.InputError | TypeError), f"{name}: {error!r}"


def error_of(function: Callable[..., object], arguments: Mapping[str, object]) -> Exception | None:
    """What a call raises, if anything."""
    try:
        invoke(function, arguments)
    except Exception as error:  # noqa: BLE001 (the test is about which ones there are)
        return error
    return None


def invoke(function: Callable[..., object], arguments: Mapping[str, object]) -> None:
    """Calls a function; names that begin with * are passed by position."""
    positional = [value for name, value in arguments.items() if name.startswith("*")]
    named = {name: value for name, value in arguments.items() if not name.startswith("*")}
    if positional:
        first = [named.pop(name) for name in list(named)[:1] if name == "op_type"]
        positional = [*first, *positional]
    function(*positional, **named)


def is_deliberate(error: Exception) -> bool:
    """Whether an error is of `sardonyx.errors`, or a TypeError or ValueError that a statement of ours raises."""
    if isinstance(error, sx.SardonyxError):
        return True
    if isinstance(error, OSError):
        return error.filename is not None
    frame = traceback.extract_tb(error.__traceback__)[-1]
    if frame.filename == enum.__file__:  # DataType(99): what Python says of every enumeration
        return isinstance(error, ValueError)
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    return (
        isinstance(error, TypeError | ValueError)
        and frame.filename.startswith(SOURCES)
        and line.startswith("raise ")
    )
