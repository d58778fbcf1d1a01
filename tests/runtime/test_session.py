"""Sessions: checks before a run, and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.errors import (
    EvaluationError,
    InputError,
    OutputError,
    SardonyxError,
    ShapeWarning,
    UnsupportedOperator,
)
from sardonyx._src.ir import TensorType

F = np.float32
IDENTITY = "g (float[N,2] x) => (float[N,2] y) { y = Identity(x) }"


def make_session(text: str, *, opset: int = 21, ir: int = 10, more: str = "") -> sx.Session:
    return sx.Session(parse_record(text, opset=opset, ir=ir, more=more))


def zeros(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.zeros(shape, F)


# --- interface -------------------------------------------------------------------------------


def test_ports_have_names_types_and_dims() -> None:
    session = make_session(IDENTITY)
    (port,) = session.inputs
    assert (port.name, port.dtype, [str(d) for d in port.shape or ()]) == ("x", sx.DataType.FLOAT, ["N", "2"])
    assert [p.name for p in session.outputs] == ["y"]
    assert isinstance(port.type, TensorType)


def test_outputs_can_be_picked() -> None:
    session = make_session("g (float[2] x) => (float[2] a, float[2] b) { a = Identity(x)  b = Identity(a) }")
    assert list(session.run({"x": zeros(2)}, ["b"])) == ["b"]
    with pytest.raises(OutputError, match="no output 'c'"):
        session.run({"x": zeros(2)}, ["c"])


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SardonyxError, match="'auto', 'reference', 'native'"):
        sx.Session(parse_record(IDENTITY), engine="gpu")  # type: ignore[arg-type]
    with pytest.raises(SardonyxError, match="threads must be in 1 to 65536; got 0"):
        sx.Session(parse_record(IDENTITY), threads=0)


def test_an_operator_without_kernel_is_named_before_anything_runs() -> None:
    with pytest.raises(
        UnsupportedOperator, match=r"node\[0\] 'here' \(Nonesuch\): com\.x\.Nonesuch-1"
    ) as caught:
        make_session("g (float[2] x) => (float[2] y) { [here] y = com.x.Nonesuch(x) }", more='"com.x": 1')
    assert (caught.value.domain, caught.value.op_type, caught.value.version) == ("com.x", "Nonesuch", 1)


def test_an_operator_set_from_the_future_says_which_is_the_newest() -> None:
    with pytest.raises(UnsupportedOperator, match="newest operator set known is 29"):
        make_session(IDENTITY, opset=99)


def test_an_operator_older_than_its_set_is_read_as_its_first_version() -> None:
    assert make_session("g (bool c, float[2] x) => (float[2] y) { y = Identity(x) }", opset=1) is not None


# --- names -----------------------------------------------------------------------------------


def test_a_misspelled_input_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(InputError, match="no input 'imag'; did you mean 'image'") as caught:
        make_session("g (float[2] image) => (float[2] y) { y = Identity(image) }").run({"imag": zeros(2)})
    assert caught.value.name == "imag"


def test_a_missing_input_is_named_with_its_type() -> None:
    with pytest.raises(InputError, match=r"no value for input 'x' of type float\[N,2\]"):
        make_session(IDENTITY).run({})


def test_an_initializer_is_a_default_that_a_feed_replaces() -> None:
    session = make_session(
        "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Identity(w) }", ir=3
    )
    assert [p.has_default for p in session.inputs] == [False, True]
    assert session.run({"x": zeros(2)})["y"].tolist() == [1, 2]
    assert session.run({"x": zeros(2), "w": zeros(2)})["y"].tolist() == [0, 0]


def test_a_constant_cannot_be_fed() -> None:
    session = make_session("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Identity(w) }")
    with pytest.raises(InputError, match="no input 'w'"):
        session.run({"x": zeros(2), "w": zeros(2)})


# --- element types ---------------------------------------------------------------------------


def test_an_array_of_another_type_is_refused_with_the_cure() -> None:
    with pytest.raises(
        InputError, match=r"input 'x' must be float; got float64: pass x\.astype\('float32'\)"
    ):
        make_session(IDENTITY).run({"x": np.zeros((1, 2))})


def test_python_numbers_take_the_declared_type() -> None:
    out = make_session(IDENTITY).run({"x": [[1, 2.5]]})["y"]
    assert isinstance(out, np.ndarray)
    assert out.dtype == F
    assert out.tolist() == [[1, 2.5]]


@pytest.mark.parametrize(
    ("type", "value"),
    [("int64", [1.5]), ("uint8", [256]), ("uint8", [-1]), ("bool", [1]), ("int8", ["a"]), ("float", [True])],
)
def test_python_values_outside_of_the_type_are_refused(type: str, value: object) -> None:
    with pytest.raises(InputError, match=r"must be .*; got "):
        make_session(f"g ({type}[1] x) => ({type}[1] y) {{ y = Identity(x) }}").run({"x": value})


def test_ragged_lists_are_refused() -> None:
    with pytest.raises(InputError, match="input 'x'"):
        make_session(IDENTITY).run({"x": [[1, 2], [3]]})


def test_ml_dtypes_arrays_are_fed_as_they_are() -> None:
    x = np.array([1, 2], ml_dtypes.bfloat16)
    out = make_session("g (bfloat16[2] x) => (bfloat16[2] y) { y = Identity(x) }").run({"x": x})["y"]
    assert isinstance(out, np.ndarray)
    assert out.dtype == ml_dtypes.bfloat16


class WithArray:
    def __array__(self, dtype: object = None, copy: object = None) -> object:
        return zeros(1, 2)


class WithDlpack:
    def __dlpack__(self, **options: object) -> object:
        return zeros(1, 2).__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.mark.parametrize("make", [WithArray, WithDlpack])
def test_arrays_of_other_libraries_are_fed(make: Callable[[], object]) -> None:
    out = make_session(IDENTITY).run({"x": make()})["y"]
    assert isinstance(out, np.ndarray)
    assert out.shape == (1, 2)


def test_what_is_no_array_is_refused() -> None:
    with pytest.raises(InputError, match="must be an array; got a object"):
        make_session(IDENTITY).run({"x": object()})


@pytest.mark.parametrize("value", [["a", "ü"], np.array(["a", "ü"]), np.array([b"a", "ü".encode()], object)])
def test_strings_come_as_text_or_bytes(value: object) -> None:
    out = make_session("g (string[2] x) => (string[2] y) { y = Identity(x) }").run({"x": value})["y"]
    assert isinstance(out, np.ndarray)
    assert out.tolist() == ["a", "ü"]


def test_numbers_are_no_strings() -> None:
    with pytest.raises(InputError, match="must be strings"):
        make_session("g (string[2] x) => (string[2] y) { y = Identity(x) }").run({"x": np.array([1, 2])})


# --- sizes -----------------------------------------------------------------------------------


def test_a_wrong_rank_is_refused() -> None:
    with pytest.raises(InputError, match=r"input 'x' must be float\[N,2\], of rank 2; got shape \[2\]"):
        make_session(IDENTITY).run({"x": zeros(2)})


def test_a_wrong_fixed_size_is_refused() -> None:
    with pytest.raises(InputError, match=r"input 'x' axis 1 must have length 2 .*got 3"):
        make_session(IDENTITY).run({"x": zeros(1, 3)})


TWO = "g (float[N] x, float[N] y) => (float[M] z) { z = Concat<axis = 0>(x, y) }"


def test_one_name_is_one_length_across_all_inputs() -> None:
    with pytest.raises(
        InputError,
        match="dimension 'N' must have one length; got 2 in input 'x' axis 0 and 3 in input 'y' axis 0",
    ):
        make_session(TWO).run({"x": zeros(2), "y": zeros(3)})


def test_up_to_ir_version_3_the_inputs_of_a_graph_share_their_names() -> None:
    with pytest.raises(InputError, match="dimension 'N' must have one length; got 2 in input 'x' axis 0"):
        make_session(TWO, ir=3).run({"x": zeros(2), "y": zeros(3)})


def test_dims_of_outputs_are_checked_against_those_of_inputs() -> None:
    session = make_session("g (float[N] x) => (float[N] z) { z = Concat<axis = 0>(x, x) }")
    with pytest.warns(
        ShapeWarning,
        match="dimension 'N' must have one length; got 2 in input 'x' axis 0 and 4 in output 'z' axis 0",
    ):
        session.run({"x": zeros(2)})


def test_names_that_only_outputs_have_are_not_compared_among_them() -> None:
    session = make_session(
        "g (float[2] x) => (float[K] y, float[K] z) { y = Identity(x)  z = Concat<axis = 0>(x, x) }"
    )
    assert set(session.run({"x": zeros(2)})) == {"y", "z"}


def test_an_output_dim_is_checked_against_its_expression() -> None:
    session = make_session('g (float[N] x) => (float["2*N"] z) { z = Concat<axis = 0>(x, x, x) }')
    with pytest.warns(ShapeWarning, match=r"must be 2\*N, which is 4 for N = 2 in input 'x' axis 0; got 6"):
        session.run({"x": zeros(2)})


def test_a_name_that_looks_like_an_expression_is_one_length_too() -> None:
    session = make_session(
        'g (float["batch-size"] x, float["batch-size"] y) => (float[M] z) { z = Concat<axis = 0>(x, y) }'
    )
    with pytest.raises(InputError, match="dimension 'batch-size' must have one length; got 2"):
        session.run({"x": zeros(2), "y": zeros(3)})


def test_a_result_of_another_element_type_than_declared_is_named() -> None:
    session = make_session("g (float[2] x) => (int64[2] y) { y = Identity(x) }")
    with pytest.raises(OutputError, match=r"output 'y' must be int64\[2\]; got float"):
        session.run({"x": zeros(2)})


def test_zero_lengths_are_lengths() -> None:
    out = make_session(IDENTITY).run({"x": zeros(0, 2)})["y"]
    assert isinstance(out, np.ndarray)
    assert out.shape == (0, 2)


# --- other kinds of value --------------------------------------------------------------------


def test_sequences_are_lists() -> None:
    session = make_session("g (seq(float[2]) x) => (seq(float[2]) y) { y = Identity(x) }")
    out = session.run({"x": [zeros(2), zeros(2)]})["y"]
    assert isinstance(out, list)
    assert len(out) == 2
    with pytest.raises(InputError, match="must be a list; got a ndarray"):
        session.run({"x": zeros(2)})
    with pytest.raises(InputError, match=r"x\[1\]"):
        session.run({"x": [zeros(2), np.zeros(2)]})


def test_optionals_are_a_value_or_none() -> None:
    session = make_session("g (optional(float[2]) x) => (optional(float[2]) y) { y = Identity(x) }")
    assert session.run({"x": None})["y"] is None
    assert np.array_equal(session.run({"x": zeros(2)})["y"], zeros(2))


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("type", ["optional(float[2])", "optional(seq(float[2]))"])
def test_an_optional_that_is_not_fed_is_an_error(type: str, engine: Literal["reference", "native"]) -> None:
    model = parse_model(
        f"g ({type} x, float[2] v) => (bool y, float[2] w) {{ y = OptionalHasElement(x)  w = Neg(v) }}"
    )
    session = sx.Session(model, engine=engine)
    for _ in range(3):
        assert session.run({"x": None, "v": zeros(2)})["y"] == False  # noqa: E712  (an array)
        with pytest.raises(
            InputError, match=r"no value for input 'x' of type optional.*; feed None for an empty optional"
        ):
            session.run({"v": zeros(2)})


# --- running ---------------------------------------------------------------------------------


def test_a_kernel_that_refuses_names_node_and_shapes() -> None:
    session = make_session("g (float[] x, float[] y) => (float[] z) { [join] z = Concat<axis = 1>(x, y) }")
    with pytest.raises(EvaluationError, match=r"node\[0\] 'join' \(Concat\)"):
        session.run({"x": zeros(2, 2), "y": zeros(3, 2)})


def test_runs_are_independent() -> None:
    session = make_session(IDENTITY)
    first = session.run({"x": zeros(1, 2)})
    session.run({"x": np.ones((1, 2), F)})
    assert np.array_equal(first["y"], zeros(1, 2))


def test_a_trace_shows_every_node() -> None:
    session = make_session("g (float[2] x) => (float[2] b) { a = Identity(x)  b = Identity(a) }")
    assert [node.outputs[0].name for node, _ in session.trace({"x": zeros(2)})] == ["a", "b"]


def test_a_session_takes_a_loaded_model() -> None:
    assert sx.Session(parse_model(IDENTITY)).run({"x": zeros(1, 2)})["y"] is not None
