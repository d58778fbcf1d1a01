"""Libraries of operators: what onnxruntime-extensions has defined in Python runs, other operators are an error with their names.

`make test-clients` runs the package itself; here an object with the same attributes stands for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sardonyx as sx
import sardonyx.compat.onnxruntime as ort
from sardonyx.compat.onnxruntime.capi.onnxruntime_pybind11_state import (
    Fail,
    InvalidGraph,
    NotImplemented,  # onnxruntime's name
    RuntimeException,
)

FLOAT, INT64, STRING, BOOL = 1, 7, 8, 9
HEADER = '<ir_version: 8, opset_import: ["": 17, "ai.onnx.contrib": 1]>'
X = np.array([1, 2], np.float32)
Define = Callable[..., None]


@pytest.fixture
def library(tmp_path: Path) -> str:
    path = tmp_path / "library.so"
    path.write_bytes(b"machine code")
    return str(path)


@pytest.fixture
def define(library: str, monkeypatch: pytest.MonkeyPatch) -> Define:
    """Defines an operator as `@onnx_op(op_type=, inputs=, outputs=, attrs=)` does."""
    definitions: dict[int, object] = {}
    package = SimpleNamespace(Opdef=SimpleNamespace(_odlist=definitions), get_library_path=lambda: library)
    monkeypatch.setitem(sys.modules, "onnxruntime_extensions", package)

    def add(
        name: str,
        body: Callable[..., object],
        inputs: list[int],
        outputs: list[int],
        attributes: dict[str, int] | None = None,
    ) -> None:
        native = SimpleNamespace(input_types=inputs, output_types=outputs, attrs=attributes or {})
        definitions[len(definitions)] = Definition(name, body, native)

    return add


class Definition:
    """What `@onnx_op` keeps of an operator."""

    def __init__(self, op_type: str, body: Callable[..., object], native: SimpleNamespace) -> None:
        self.op_type, self.body, self._nativedef = op_type, body, native


def open_session(library: str, graph: str, header: str = HEADER) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.register_custom_ops_library(library)
    path = Path(library).with_name("m.onnx")
    sx.save(sx.from_text(f"{header} {graph}"), path)
    return ort.InferenceSession(path, options)


def run(library: str, graph: str, **feeds: object) -> list[object]:
    return list(open_session(library, graph).run(None, feeds))


def test_a_function_runs_with_its_attributes(library: str, define: Define) -> None:
    def scale(x: object, *, by: float, add: int, name: str) -> object:
        return np.asarray(x) * by + add + len(name)

    define("Scale", scale, [FLOAT], [FLOAT], {"by": FLOAT, "add": INT64, "name": STRING})
    graph = 'g (float[N] x) => (float[N] z) { y = ai.onnx.contrib.Scale<by = 0.5, add = 3, name = "four">(x) z = Neg(y) }'
    (z,) = run(library, graph, x=X)
    np.testing.assert_array_equal(z, np.array([-7.5, -8], np.float32))


def test_strings_and_several_outputs(library: str, define: Define) -> None:
    def reverse(texts: np.ndarray[tuple[int, ...], np.dtype[np.object_]]) -> object:
        return np.array([t[::-1] for t in texts]), np.array([len(t) for t in texts])

    define("Reverse", reverse, [STRING], [STRING, INT64])
    session = open_session(
        library, "g (string[N] x) => (string[N] y, int64[N] n) { y, n = ai.onnx.contrib.Reverse(x) }"
    )
    assert [arg.type for arg in session.get_outputs()] == ["tensor(string)", "tensor(int64)"]
    texts, lengths = session.run(None, {"x": np.array(["abc", "dé"], object)})
    assert (texts.tolist(), lengths.tolist()) == (["cba", "éd"], [3, 2])


def test_element_types_choose_the_definition(library: str, define: Define) -> None:
    define("Shift", lambda x: x + 1, [FLOAT], [FLOAT])
    define("Shift", lambda x: x + 2, [INT64], [INT64])
    graph = "g (float[2] x, int64[2] n) => (float[2] y, int64[2] m) { y = ai.onnx.contrib.Shift(x) m = ai.onnx.contrib.Shift(n) }"
    y, m = run(library, graph, x=X, n=np.array([1, 2]))
    np.testing.assert_array_equal(y, np.array([2, 3], np.float32))
    np.testing.assert_array_equal(m, [3, 4])


def test_a_name_may_have_a_domain(library: str, define: Define) -> None:
    define("com.example::Twice", lambda x: x * 2, [FLOAT], [FLOAT])
    header = HEADER.replace("ai.onnx.contrib", "com.example")
    session = open_session(library, "g (float[2] x) => (float[2] y) { y = com.example.Twice(x) }", header)
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], np.array([2, 4], np.float32))


def test_a_function_may_write_into_its_inputs(library: str, define: Define) -> None:
    def clear(x: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> object:
        x[:] = 0
        return x

    define("Clear", clear, [FLOAT], [FLOAT])
    y, z = run(
        library, "g (float[2] x) => (float[2] y, float[2] z) { y = ai.onnx.contrib.Clear(x) z = Neg(x) }", x=X
    )
    np.testing.assert_array_equal(y, np.zeros(2, np.float32))
    np.testing.assert_array_equal(z, -X)


WRONG_RESULTS: dict[str, tuple[object, int, str]] = {
    "floats for integers": (X + 0.5, INT64, "must return int64; got float32"),
    "an integer out of range": (np.array([2**40]), 6, "must return numbers that int32 can hold"),
    "numbers for strings": (X, STRING, "must return strings; got float32"),
    "nothing": (None, FLOAT, "must return float; got object"),
}


@pytest.mark.parametrize("name", WRONG_RESULTS)
def test_results_of_other_types_are_errors(name: str, library: str, define: Define) -> None:
    result, dtype, message = WRONG_RESULTS[name]
    define("Wrong", lambda x: result, [FLOAT], [dtype])
    text = {INT64: "int64", 6: "int32", STRING: "string", FLOAT: "float"}[dtype]
    with pytest.raises(RuntimeException, match=message):
        run(library, f"g (float[2] x) => ({text}[?] y) {{ y = ai.onnx.contrib.Wrong(x) }}", x=X)


def test_too_few_results_are_an_error(library: str, define: Define) -> None:
    define("Few", lambda x: x, [FLOAT], [FLOAT, FLOAT])
    with pytest.raises(RuntimeException, match="Few must return 2 results; got 1"):
        run(library, "g (float[2] x) => (float[2] y, float[2] z) { y, z = ai.onnx.contrib.Few(x) }", x=X)


GRAPH = "g (float[2] x) => (float[2] y) { y = ai.onnx.contrib.Op(x) }"


def test_definitions_that_contradict_each_other_are_an_error(library: str, define: Define) -> None:
    define("Op", lambda x: x, [FLOAT], [FLOAT])
    define("Op", lambda x: x, [FLOAT], [FLOAT])
    with pytest.raises(Fail, match="must have one definition for the same element types"):
        open_session(library, GRAPH)


def test_definitions_with_other_attributes_are_an_error(library: str, define: Define) -> None:
    define("Op", lambda x: x, [FLOAT], [FLOAT])
    define("Op", lambda x, *, a: x, [INT64], [INT64], {"a": INT64})
    with pytest.raises(Fail, match="the same attributes"):
        open_session(library, GRAPH)


def test_attributes_of_other_types_are_an_error(library: str, define: Define) -> None:
    define("Op", lambda x, *, a: x, [FLOAT], [FLOAT], {"a": BOOL})
    with pytest.raises(
        Fail, match=r"attribute 'a' of ai\.onnx\.contrib\.Op must be of int64, float or string; got type 9"
    ):
        open_session(library, GRAPH)


def test_attributes_are_required(library: str, define: Define) -> None:
    define("Op", lambda x, *, a: x, [FLOAT], [FLOAT], {"a": INT64})
    with pytest.raises(InvalidGraph, match="attribute 'a'"):
        open_session(library, GRAPH)


MACHINE_CODE = """
g (string[N] x, bool c) => (string[?] y)
{ a = ai.onnx.contrib.StringUpper(x)
  y = If(c) <then_branch = t () => (string[?] u) { u = ai.onnx.contrib.StringLower(a) },
             else_branch = e () => (string[?] v) { v = Identity(a) }> }
"""


def test_an_error_names_all_operators_of_machine_code(library: str, define: Define) -> None:
    define("StringUpper", lambda x: x, [STRING], [STRING])
    with pytest.raises(NotImplemented, match=r"uses ai\.onnx\.contrib\.StringLower: define"):
        open_session(library, MACHINE_CODE)


def test_another_library_has_no_definitions_in_python(
    library: str, define: Define, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    define("StringUpper", lambda x: x, [STRING], [STRING])
    other = tmp_path / "other.so"
    other.touch()
    with (
        caplog.at_level("INFO", "sardonyx.compat"),
        pytest.raises(
            NotImplemented,
            match=r"uses ai\.onnx\.contrib\.StringLower, ai\.onnx\.contrib\.StringUpper: define",
        ),
    ):
        open_session(str(other), MACHINE_CODE)
    assert f"{other} is not loaded: its operators are machine code for onnxruntime" in caplog.messages


def test_a_model_without_its_operators_opens_beside_a_library(library: str) -> None:
    (y,) = run(library, "g (float[2] x) => (float[2] y) { y = Neg(x) }", x=X)
    np.testing.assert_array_equal(y, -X)


def test_callers_may_define_operators_of_a_library(library: str) -> None:
    @sx.operator(
        "ai.onnx.contrib",
        name="NegatedForTests",
        inputs={"x": "tensor(float)"},
        outputs={"y": "tensor(float)"},
    )
    def negated(x: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> object:
        return -x

    (y,) = run(library, "g (float[2] x) => (float[2] y) { y = ai.onnx.contrib.NegatedForTests(x) }", x=X)
    np.testing.assert_array_equal(y, -X)


def test_a_library_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Fail, match=r"Failed to load library .*there is no such file"):
        ort.SessionOptions().register_custom_ops_library(str(tmp_path / "ops.so"))
