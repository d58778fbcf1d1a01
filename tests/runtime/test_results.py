"""What comes out of a session: of the declared kind, the caller's own, and the same from several threads."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sardonyx as sx
from models import record
from sardonyx._src.errors import InputError, OutputError
from sardonyx._src.ir.tensors import Array, Tensor

F = np.float32


def session(text: str) -> sx.Session:
    return sx.Session(record(text))


def array(value: object) -> Array:
    assert isinstance(value, np.ndarray)
    return value


# --- kinds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "node", "match"),
    [
        ("seq(float[2])", "y = Neg(x)", r"output 'y' is declared seq\(float\[2\]\), and is float"),
        ("float[2]", "y = SequenceConstruct(x)", r"declared float\[2\], and is seq\(float\)"),
        ("seq(int64[2])", "y = SequenceConstruct(x)", r"declared seq\(int64\[2\]\), and is seq\(float\)"),
        ("float[2]", "y = Optional <type: type_proto = float[2]> ()", r"declared float\[2\], and is none"),
        ("map(int64, float)", "y = Neg(x)", r"declared map\(int64, float\[\]\), and is float"),
    ],
)
def test_a_result_of_another_kind_than_declared_is_named(declared: str, node: str, match: str) -> None:
    with pytest.raises(OutputError, match=match) as caught:
        session(f"g (float[2] x) => ({declared} y) {{ {node} }}").run({"x": np.ones(2, F)})
    assert caught.value.name == "y"


def test_an_empty_sequence_is_one_of_any_type() -> None:
    assert session("g () => (seq(float[2]) y) { y = SequenceEmpty() }").run()["y"] == []


# --- owned -----------------------------------------------------------------------------------


def test_a_result_is_not_the_caller_s_array() -> None:
    x = np.array([1, 2], F)
    out = array(session("g (float[2] x) => (float[2] y) { y = Identity(x) }").run({"x": x})["y"])
    out += 1
    assert x.tolist() == [1, 2]
    assert x.flags.writeable


def test_a_result_is_not_the_model_s_weight() -> None:
    found = session(
        "g (float[2] x) => (float[2] w, float[2] k) <float[2] w = {5, 6}> { k = Constant <value = float[2] {7, 8}> () }"
    )
    for _ in range(2):
        out = found.run({"x": np.zeros(2, F)})
        assert array(out["w"]).tolist() == [5, 6]
        assert array(out["k"]).tolist() == [7, 8]
        array(out["w"])[0] = array(out["k"])[0] = 0


def test_elements_of_a_sequence_are_the_caller_s_own() -> None:
    x = np.array([1, 2], F)
    found = session("g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x) }").run({"x": x})["y"]
    assert isinstance(found, list)
    array(found[0])[0] = 9
    assert x.tolist() == [1, 2]


def test_a_tensor_made_of_an_array_hands_out_what_cannot_be_written_to() -> None:
    tensor = Tensor.of(np.array([1, 2], F))
    with pytest.raises(ValueError, match="read-only"):
        tensor.numpy()[0] = 5


# --- feeds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("feeds", [np.zeros(2, F), [np.zeros(2, F)], "x"])
def test_feeds_are_a_dict(feeds: object) -> None:
    with pytest.raises(InputError, match="feeds are a dict from input name to value"):
        session("g (float[2] x) => (float[2] y) { y = Neg(x) }").run(feeds)  # type: ignore[arg-type]


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
    with pytest.raises(InputError, match="is not all of that type"):
        session(f"g ({type}[1] x) => ({type}[1] y) {{ y = Identity(x) }}").run({"x": value})


def test_infinities_are_numbers_of_a_float() -> None:
    out = session("g (float[2] x) => (float[2] y) { y = Identity(x) }").run(
        {"x": [float("inf"), float("-inf")]}
    )["y"]
    assert array(out).tolist() == [np.inf, -np.inf]


class Unwilling:
    """An array of another library that it does not give out."""

    def __array__(self, dtype: object = None, copy: object = None) -> object:
        raise RuntimeError("it requires grad")


def test_an_array_that_another_library_keeps_is_refused_in_its_words() -> None:
    with pytest.raises(InputError, match="input 'x': a Unwilling gives no array: it requires grad"):
        session("g (float[2] x) => (float[2] y) { y = Neg(x) }").run({"x": Unwilling()})


# --- threads ---------------------------------------------------------------------------------

LOOP = """g (int64 n, float[2] x) => (float[2] y, int64[K] i) {
  c = Constant <value = bool {1}> ()
  y, i = Loop (n, c, x) <body = b (int64 k, bool c1, float[2] v) => (bool c2, float[2] w, int64 j) {
    c2 = Identity(c1)  w = l.twice(v)  j = Identity(k)
  }>
}
<domain: "l", opset_import: ["": 21]> twice (a) => (b) { b = Add(a, a) }"""


def test_eight_threads_run_one_session_at_once() -> None:
    found = sx.Session(record(LOOP, more='"l": 1'))

    def run(n: int) -> bool:
        for _ in range(10):
            out = found.run({"n": n, "x": np.array([1, n], F)})
            if array(out["y"]).tolist() != [2**n, n * 2**n] or array(out["i"]).tolist() != list(range(n)):
                return False
        return True

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # so that threads meet in the middle of things
    try:
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(run, range(1, 17)))
    finally:
        sys.setswitchinterval(before)
