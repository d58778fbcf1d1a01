"""Results of sessions: of the declared kind, owned by the caller, and equal from several threads."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sardonyx as sx
from models import parse_record
from sardonyx._src.errors import InputError, OutputError
from sardonyx._src.ir import Array, Tensor
from sardonyx._src.runtime.session.session import ENGINES, Engine

F = np.float32


def make_session(text: str) -> sx.Session:
    return sx.Session(parse_record(text))


def array(value: object) -> Array:
    assert isinstance(value, np.ndarray)
    return value


# --- kinds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "node", "match"),
    [
        ("seq(float[2])", "y = Neg(x)", r"output 'y' must be seq\(float\[2\]\); got float"),
        ("float[2]", "y = SequenceConstruct(x)", r"must be float\[2\]; got seq\(float\)"),
        ("seq(int64[2])", "y = SequenceConstruct(x)", r"must be seq\(int64\[2\]\); got seq\(float\)"),
        ("float[2]", "y = Optional <type: type_proto = float[2]> ()", r"must be float\[2\]; got none"),
        ("map(int64, float)", "y = Neg(x)", r"must be map\(int64, float\[\]\); got float"),
    ],
)
def test_a_result_of_another_kind_than_declared_is_named(declared: str, node: str, match: str) -> None:
    with pytest.raises(OutputError, match=match) as caught:
        make_session(f"g (float[2] x) => ({declared} y) {{ {node} }}").run({"x": np.ones(2, F)})
    assert caught.value.name == "y"


@pytest.mark.parametrize(
    ("declared", "labels"),
    [
        ("map(string, float)", "classlabels_int64s = [3, 4]"),
        ("map(int64, float)", 'classlabels_strings = ["a", "b"]'),
        ("map(int64, double)", "classlabels_int64s = [3, 4]"),
        ("map(int64, seq(float))", "classlabels_int64s = [3, 4]"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_keys_and_values_of_maps_are_as_declared(declared: str, labels: str, engine: Engine) -> None:
    text = f"g (float[1,2] x) => (seq({declared}) y) {{ y = ai.onnx.ml.ZipMap <{labels}> (x) }}"
    session = sx.Session(parse_record(text, more='"ai.onnx.ml": 1'), engine=engine)
    with pytest.raises(OutputError, match=r"must be seq\(map\(.*; got seq\(map\((int64|string), float\)\)"):
        session.run({"x": np.ones((1, 2), F)})


@pytest.mark.parametrize("engine", ENGINES)
def test_maps_with_the_declared_values_are_returned(engine: Engine) -> None:
    text = "g (float[1,2] x) => (seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap <classlabels_int64s = [3, 4]> (x) }"
    session = sx.Session(parse_record(text, more='"ai.onnx.ml": 1'), engine=engine)
    assert session.run({"x": np.array([[1, 2]], F)})["y"] == [{3: 1, 4: 2}]


def test_an_empty_sequence_is_one_of_any_type() -> None:
    assert make_session("g () => (seq(float[2]) y) { y = SequenceEmpty() }").run()["y"] == []


# --- owned -----------------------------------------------------------------------------------


def test_a_result_is_not_the_caller_s_array() -> None:
    x = np.array([1, 2], F)
    out = array(make_session("g (float[2] x) => (float[2] y) { y = Identity(x) }").run({"x": x})["y"])
    out += 1
    assert x.tolist() == [1, 2]
    assert x.flags.writeable


def test_a_result_is_not_the_model_s_weight() -> None:
    session = make_session(
        "g (float[2] x) => (float[2] w, float[2] k) <float[2] w = {5, 6}> { k = Constant <value = float[2] {7, 8}> () }"
    )
    for _ in range(2):
        out = session.run({"x": np.zeros(2, F)})
        assert array(out["w"]).tolist() == [5, 6]
        assert array(out["k"]).tolist() == [7, 8]
        array(out["w"])[0] = array(out["k"])[0] = 0


def test_elements_of_a_sequence_are_the_caller_s_own() -> None:
    x = np.array([1, 2], F)
    sequence = make_session("g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x) }").run({"x": x})[
        "y"
    ]
    assert isinstance(sequence, list)
    array(sequence[0])[0] = 9
    assert x.tolist() == [1, 2]


def test_a_tensor_of_an_array_returns_a_read_only_array() -> None:
    tensor = Tensor.of(np.array([1, 2], F))
    with pytest.raises(ValueError, match="read-only"):
        tensor.numpy()[0] = 5


# --- feeds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("feeds", [np.zeros(2, F), [np.zeros(2, F)], "x"])
def test_feeds_are_a_dict(feeds: object) -> None:
    with pytest.raises(TypeError, match="feeds must be a dict from input names to values, or a table"):
        make_session("g (float[2] x) => (float[2] y) { y = Neg(x) }").run(feeds)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("float", [1e300]),
        ("float16", [70000]),
        ("float", [1 + 2j]),
        ("int64", [1e300]),
        ("int64", [float("nan")]),
        ("int64", [1 << 70]),
    ],
)
def test_numbers_that_the_type_does_not_have_are_refused(type: str, value: object) -> None:
    with pytest.raises(InputError, match=r"must be .*; got "):
        make_session(f"g ({type}[1] x) => ({type}[1] y) {{ y = Identity(x) }}").run({"x": value})


def test_infinities_are_numbers_of_a_float() -> None:
    out = make_session("g (float[2] x) => (float[2] y) { y = Identity(x) }").run(
        {"x": [float("inf"), float("-inf")]}
    )["y"]
    assert array(out).tolist() == [np.inf, -np.inf]


class Unwilling:
    """An array of another library that refuses conversion."""

    def __array__(self, dtype: object = None, copy: object = None) -> object:
        raise RuntimeError("it requires grad")


def test_an_array_that_does_not_convert_is_refused_with_the_reason() -> None:
    with pytest.raises(
        InputError,
        match="input 'x' must be an array; got a Unwilling, which does not convert: it requires grad",
    ):
        make_session("g (float[2] x) => (float[2] y) { y = Neg(x) }").run({"x": Unwilling()})


# --- threads ---------------------------------------------------------------------------------

LOOP = """g (int64 n, float[2] x) => (float[2] y, int64[K] i) {
  c = Constant <value = bool {1}> ()
  y, i = Loop (n, c, x) <body = b (int64 k, bool c1, float[2] v) => (bool c2, float[2] w, int64 j) {
    c2 = Identity(c1)  w = l.twice(v)  j = Identity(k)
  }>
}
<domain: "l", opset_import: ["": 21]> twice (a) => (b) { b = Add(a, a) }"""


def test_eight_threads_run_one_session_at_once() -> None:
    session = sx.Session(parse_record(LOOP, more='"l": 1'))

    def run(n: int) -> bool:
        for _ in range(10):
            out = session.run({"n": n, "x": np.array([1, n], F)})
            if array(out["y"]).tolist() != [2**n, n * 2**n] or array(out["i"]).tolist() != list(range(n)):
                return False
        return True

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # so that threads interleave often
    try:
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(run, range(1, 17)))
    finally:
        sys.setswitchinterval(before)
