"""Signatures: parameters by position, allowed types, defaults."""

from __future__ import annotations

import pytest

from sardonyx._src import schema
from sardonyx._src.schema import OpSchema


def exact(domain: str, name: str, since_version: int) -> OpSchema:
    op_schema = schema.exact(domain, name, since_version)
    assert op_schema is not None
    return op_schema


@pytest.mark.parametrize(("position", "name"), [(0, "M"), (1, "cond"), (2, "v_initial"), (9, "v_initial")])
def test_a_variadic_parameter_takes_every_position_from_its_own_on(position: int, name: str) -> None:
    parameter = exact("", "Loop", 13).input(position)
    assert parameter is not None
    assert parameter.name == name


def test_there_is_no_parameter_past_the_last_one() -> None:
    softmax = exact("", "Softmax", 13)
    assert softmax.input(0) == softmax.inputs[0]
    assert softmax.input(1) is None
    assert softmax.output(0) == softmax.outputs[0]
    assert softmax.output(1) is None
    assert exact("", "Constant", 13).input(0) is None


def test_a_variadic_output_takes_every_position() -> None:
    split = exact("", "Split", 13).output(5)
    assert split is not None
    assert (split.name, split.option, split.homogeneous) == ("outputs", "variadic", True)


def test_a_position_from_the_back_is_refused() -> None:
    with pytest.raises(AssertionError, match="count from the front"):
        exact("", "Softmax", 13).input(-1)


def test_a_type_variable_allows_its_constraint() -> None:
    softmax = exact("", "Softmax", 11)
    assert softmax.allowed_types(softmax.inputs[0]) == ("tensor(float16)", "tensor(float)", "tensor(double)")


def test_a_type_string_allows_itself() -> None:
    shape = exact("", "Reshape", 5).inputs[1]
    assert (shape.name, shape.type) == ("shape", "tensor(int64)")
    assert exact("", "Reshape", 5).allowed_types(shape) == ("tensor(int64)",)


def test_counts_have_no_limit_where_a_variadic_parameter_is_last() -> None:
    loop = exact("", "Loop", 13)
    # M and cond are optional, and may only be left out by an empty name: the specification counts both
    assert (loop.min_inputs, loop.max_inputs) == (2, None)
    assert loop.inputs[2].min_arity == 0


def test_float_defaults_are_the_shortest_decimals_of_their_float32_values() -> None:
    assert exact("", "LeakyRelu", 6).attributes["alpha"].default == 0.01
    assert exact("", "Selu", 6).attributes["gamma"].default == 1.050701


def test_defaults_are_python_values() -> None:
    assert exact("", "Conv", 11).attributes["auto_pad"].default == b"NOTSET"
    assert exact("", "RNN", 14).attributes["activations"].default == (b"Tanh", b"Tanh")
    assert exact("", "MeanVarianceNormalization", 13).attributes["axes"].default == (0, 2, 3)
    assert exact("", "Conv", 11).attributes["group"].default == 1
    alpha = exact("", "Gemm", 13).attributes["alpha"].default
    assert (alpha, type(alpha)) == (1.0, float)


def test_an_attribute_without_a_default_may_be_required() -> None:
    assert exact("", "Cast", 13).attributes["to"].required
    assert exact("", "Cast", 13).attributes["to"].default is None
    assert not exact("", "Transpose", 13).attributes["perm"].required


def test_bodies_name_the_opsets_that_they_are_written_in() -> None:
    assert exact("", "Softmax", 13).bodies == (13, 18)
    assert exact("", "Softmax", 13).is_function
    assert exact("", "Relu", 14).bodies == (18,)
    assert not exact("", "Softmax", 11).is_function


def test_gradients_are_known_to_exist_or_not_or_not_spoken_of() -> None:
    assert exact("", "Softmax", 13).inputs[0].differentiable is True
    assert exact("", "Reshape", 13).inputs[1].differentiable is False
    assert exact("", "Softmax", 11).inputs[0].differentiable is None
