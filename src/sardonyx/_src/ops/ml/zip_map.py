"""ZipMap: each row of a tensor as a map from class labels to its elements.

Spec: ai.onnx.ml ZipMap-1.  A vector is one row; of several equal labels the last one's element counts.  The elements are
NumPy scalars: arrays without axes take four times as long to create.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias, cast

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, MapType, SequenceType, TensorType
from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.bound_kernel import BoundKernel, NodeBinding
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.batches import batch, rows

MapBuilder: TypeAlias = Callable[[Iterable[Iterable[np.generic]]], list[RuntimeValue]]
# The largest numbers of labels for which maps are built by a dict display, and a single map by indexing its row.
MAX_DISPLAYED_LABELS, MAX_INDEXED_LABELS = 100, 16
op = Operator("ZipMap", "ai.onnx.ml", returns_copies=True)
LABEL_TYPES = {"classlabels_int64s": DataType.INT64, "classlabels_strings": DataType.STRING}


@op.eval(1)
def evaluate(
    X: Array,
    *,
    classlabels_int64s: tuple[int, ...] | None = None,
    classlabels_strings: tuple[str, ...] | None = None,
) -> list[RuntimeValue]:
    """X: [N, C] or [C] float32, result: N maps from C labels to scalars."""
    batch = rows(X)
    if (classlabels_int64s is None) == (classlabels_strings is None):
        raise EvaluationError(
            "one of classlabels_int64s and classlabels_strings must be set; got both or none"
        )
    labels = classlabels_strings or () if classlabels_int64s is None else classlabels_int64s
    check_label_count(labels, batch)
    return build_maps(labels)(batch) if labels else [{} for _ in batch]


@op.bind(1)
def bind(binding: NodeBinding) -> BoundKernel | None:
    """Rows that have as many elements as there are labels."""
    lists = [labels for name in LABEL_TYPES if (labels := binding.attributes.get(name))]
    shape, dtype, _ = binding.inputs[0]
    if shape is None or dtype is None or len(shape) != 2 or len(lists) != 1 or shape[1] != len(lists[0]):
        return None
    return BoundKernel(build_maps(lists[0]))


@lru_cache(maxsize=64)
def build_maps(labels: tuple[int, ...] | tuple[str, ...]) -> Callable[[Array], list[RuntimeValue]]:
    """A function from a matrix, with a column for each label, to a map for each row."""
    builder, columns = map_builder(labels), len(labels)
    build_one = row_builder(labels) if columns <= MAX_INDEXED_LABELS else None

    def build(matrix: Array) -> list[RuntimeValue]:
        if build_one is not None and len(matrix) == 1:
            return [build_one(matrix[0])]
        elements = iter(list(matrix.reshape(-1)))
        return builder(zip(*[elements] * columns))  # noqa: B905  # each row takes the next elements

    return build


def row_builder(labels: tuple[int, ...] | tuple[str, ...]) -> Callable[[Array], RuntimeValue]:
    """A function from a row to a map, without an iterator over its elements."""
    keys = ", ".join(f"k{i}" for i in range(len(labels)))
    entries = ", ".join(f"k{i}: row[{i}]" for i in range(len(labels)))
    make_builder = eval(
        f"lambda {keys}: lambda row: {{{entries}}}"
    )  # safe: no part of the code is from a model
    builder: Callable[[Array], RuntimeValue] = make_builder(*labels)
    return builder


def map_builder(labels: tuple[int, ...] | tuple[str, ...]) -> MapBuilder:
    """A function from rows of elements to maps; for few labels it has a dict display, which is faster than `zip`."""
    if len(labels) > MAX_DISPLAYED_LABELS:
        return lambda rows: [cast(RuntimeValue, dict(zip(labels, row, strict=True))) for row in rows]
    indices = range(len(labels))
    entries = ", ".join(f"k{i}: v{i}" for i in indices)
    keys, elements = (", ".join(f"{name}{i}" for i in indices) for name in "kv")
    text = f"lambda {keys}: lambda rows: [{{{entries}}} for {elements}, in rows]"
    make_builder: Callable[..., MapBuilder] = eval(text)  # safe: no part of the code is from a model
    return make_builder(*labels)


def check_label_count(labels: Sequence[object], batch: Array) -> None:
    """Raises EvaluationError unless there is a label for each element of a row."""
    if len(labels) != batch.shape[1]:
        raise EvaluationError(
            f"there must be {batch.shape[1]} class labels, one for each element of a row; got {len(labels)}"
        )


@op.infer(1)
def infer(inference: Inference) -> Result:
    lists = [name for name in LABEL_TYPES if inference.attributes.get(name) is not None]
    if len(lists) != 1:
        inference.fail("one of classlabels_int64s and classlabels_strings must be set; got both or none")
    labels, length = inference.attributes[lists[0]], batch(inference)[1]
    assert isinstance(labels, tuple), f"{lists[0]} is no list"
    if isinstance(length, int) and length != len(labels):
        inference.fail(
            f"there must be {length} class labels, one for each element of a row; got {len(labels)}"
        )
    # The specification gives only the element type, and models declare scalars as well as vectors of one element.
    return SequenceType(MapType(LABEL_TYPES[lists[0]], TensorType(DataType.FLOAT)))
