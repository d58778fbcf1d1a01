"""Kernels bound for one node, against the kernels of any node."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sardonyx._src import schema
from sardonyx._src.ir import Array, Node, Value
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.bound_kernel import BoundInput, NodeBinding
from sardonyx._src.ops.ml import zip_map
from sardonyx._src.ops.registry import find, operators

LABELS: Array = np.array(["a", "b", "c"], object)
Kernel = Callable[..., RuntimeValue]


def as_input(value: object) -> BoundInput:
    """An array of a constant or of kernels; or, for a Value, what is known of one that Python holds."""
    return BoundInput(value.shape, value.dtype, value) if isinstance(value, np.ndarray) else BoundInput()


def bind(op_type: str, domain: str, inputs: list[object], **attributes: object) -> Kernel | None:
    """The bound kernel in the newest version; None if the facet returns none."""
    node = Node(op_type, [Value(f"x{i}") for i in range(len(inputs))], [Value("y")], domain=domain)
    op = find(domain, op_type)
    assert op is not None
    facet = op.binds[max(op.binds)]
    bound = facet(
        NodeBinding(
            node,
            attributes,
            tuple(map(as_input, inputs)),
            lambda _: None,
            lambda seed: np.random.RandomState(int(seed or 5)),
            max_iterations=100,
        )
    )
    return None if bound is None else bound.function


def test_versions_of_bind_facets_exist() -> None:
    for op in operators():
        assert op.binds.keys() <= set(schema.versions(op.domain, op.name)), op.name


@pytest.mark.parametrize("shape", [(1,), (7,), (2, 3), (0,)])
def test_labels_are_gathered(shape: tuple[int, ...]) -> None:
    indices = np.random.default_rng(1).integers(-3, 3, shape)
    kernel = bind("Gather", "", [LABELS, indices], axis=0)
    assert kernel is not None
    y = kernel(LABELS, indices)
    assert isinstance(y, np.ndarray) and y.dtype == object and y.shape == shape
    assert y.tolist() == LABELS[indices].tolist()


def test_labels_out_of_range_are_an_error() -> None:
    indices = np.array([3])
    kernel = bind("Gather", "", [LABELS, indices], axis=0)
    assert kernel is not None
    with pytest.raises(IndexError):
        kernel(LABELS, indices)


@pytest.mark.parametrize(
    "inputs",
    [[LABELS.reshape(1, 3), np.zeros(2, int)], [np.zeros(3), np.zeros(2, int)], [Value("labels"), np.zeros(2, int)],
     [LABELS, np.array(1)], [LABELS, Value("indices")]],
    ids=["a matrix", "numbers", "labels of the run", "a scalar", "indices of Python"],
)  # fmt: skip
def test_other_gathers_have_none(inputs: list[object]) -> None:
    assert bind("Gather", "", inputs, axis=0) is None


@pytest.mark.parametrize("rows", [0, 1, 2, 50])
@pytest.mark.parametrize(
    "labels", [("a", "b", "c"), (3, 1, 2), ("a", "b", "a"), ("a",), tuple(range(40)), tuple(range(120))]
)
def test_maps_of_rows(labels: tuple[str, ...] | tuple[int, ...], rows: int) -> None:
    x = np.random.default_rng(2).normal(size=(rows, len(labels))).astype(np.float32)
    attribute = "classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s"
    kernel = bind("ZipMap", "ai.onnx.ml", [x], **{attribute: labels})
    assert kernel is not None
    maps = kernel(x)
    assert isinstance(maps, list)
    assert maps == zip_map.evaluate(x, **{attribute: labels})  # type: ignore[arg-type]  # one of two lists
    assert maps == [dict(zip(labels, row, strict=True)) for row in x]
    types = {type(value) for row in maps if isinstance(row, dict) for value in row.values()}
    assert types <= {np.float32}


def test_rows_of_another_length_have_none() -> None:
    assert bind("ZipMap", "ai.onnx.ml", [np.zeros((2, 4))], classlabels_strings=("a", "b")) is None
    assert bind("ZipMap", "ai.onnx.ml", [np.zeros(2)], classlabels_strings=("a", "b")) is None
    assert bind("ZipMap", "ai.onnx.ml", [Value("x")], classlabels_strings=("a", "b")) is None


def test_a_node_without_a_chain_has_none() -> None:
    assert bind("TfIdfVectorizer", "", [Value("tokens")], mode="TF") is None


TABLE = {"default_int64": -1, "default_float": 0.5, "default_string": "?"}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"values_int64s": (7, 8)}, np.array([[8], [-1]])),
        ({"values_floats": (1.5, -0.0)}, np.array([[-0.0], [0.5]], np.float32)),
        ({"values_strings": ("p", "q")}, np.array([["q"], ["?"]], object)),
        ({"values_tensor": np.array([1, 2], np.int16)}, np.array([[2], [-1]], np.int16)),
        ({"values_tensor": np.array([1, 2.0]), "default_tensor": np.array([9.0])}, np.array([[2.0], [9.0]])),
    ],
    ids=range(5),
)
def test_strings_are_encoded(values: dict[str, object], expected: Array) -> None:
    x = np.array([["b"], ["z"]], object)
    kernel = bind("LabelEncoder", "ai.onnx.ml", [x], keys_strings=("a", "b"), **TABLE, **values)
    assert kernel is not None
    y = kernel(x)
    assert isinstance(y, np.ndarray)
    np.testing.assert_array_equal(y, expected, strict=True)


def test_encoders_of_numbers_and_of_equal_keys_have_none() -> None:
    values = {**TABLE, "values_int64s": (7, 8)}
    assert bind("LabelEncoder", "ai.onnx.ml", [np.zeros(2, int)], keys_int64s=(1, 2), **values) is None
    assert bind("LabelEncoder", "ai.onnx.ml", [LABELS], keys_strings=("a", "a"), **values) is None
    label_encoder = find("ai.onnx.ml", "LabelEncoder")
    assert label_encoder is not None and 1 not in label_encoder.binds  # its version 1 has another table


@pytest.mark.parametrize("op_type", ["RandomUniform", "RandomNormal"])
def test_drawn_numbers_have_the_shape_and_type_of_attributes_or_inputs(op_type: str) -> None:
    attributes = {"low": 1.0, "high": 3.0, "mean": 1.0, "scale": 2.0, "seed": 7.0}
    state = np.random.RandomState(7)
    expected = state.random_sample((2, 3)) if op_type == "RandomUniform" else state.standard_normal((2, 3))
    x = np.zeros((2, 3), np.float16)
    for kernel, dtype in (
        (bind(op_type, "", [], shape=(2, 3), dtype=11, **attributes), np.float64),
        (bind(f"{op_type}Like", "", [x], **attributes), np.float16),
        (bind(f"{op_type}Like", "", [x], dtype=1, **attributes), np.float32),
    ):
        assert kernel is not None
        y = kernel(x)
        assert isinstance(y, np.ndarray)
        np.testing.assert_array_equal(y, (1 + 2 * expected).astype(dtype), strict=True)
    assert bind(f"{op_type}Like", "", [Value("text")], dtype=1, **attributes) is None
