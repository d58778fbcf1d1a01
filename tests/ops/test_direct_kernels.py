"""Kernels bound for one place, against the kernels of any place."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.direct_kernels import DirectKernel, bind_direct_kernel
from sardonyx._src.ops.ml import zip_map

LABELS: Array = np.array(["a", "b", "c"], object)


def bind(op_type: str, domain: str, inputs: list[object], **attributes: object) -> DirectKernel | None:
    node = Node(op_type, [Value(f"x{i}") for i in range(len(inputs))], [Value("y")], domain=domain)
    return bind_direct_kernel(node, attributes, inputs)


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


def test_other_operators_have_none() -> None:
    assert bind("Identity", "", [LABELS]) is None
