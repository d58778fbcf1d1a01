"""ZipMap: each row of a tensor as a map from class labels to its elements.

Spec: ai.onnx.ml ZipMap-1.  A vector is one row; of several equal labels the last one's element counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import MapType, SequenceType, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.batches import batch, rows

op = Operator("ZipMap", "ai.onnx.ml")
LABEL_TYPES = {"classlabels_int64s": DataType.INT64, "classlabels_strings": DataType.STRING}


@op.eval(1)
def evaluate(
    X: Array,
    *,
    classlabels_int64s: tuple[int, ...] | None = None,
    classlabels_strings: tuple[str, ...] | None = None,
) -> list[dict[int, Array]] | list[dict[str, Array]]:
    """X: [N, C] or [C] float32, result: N maps with C labels to scalars."""
    batch = rows(X)
    if (classlabels_int64s is None) == (classlabels_strings is None):
        raise EvaluationError(
            "one of classlabels_int64s and classlabels_strings must be set; got both or none"
        )
    if classlabels_int64s is not None:
        check_label_count(classlabels_int64s, batch)
        return [{label: row[i, ...] for i, label in enumerate(classlabels_int64s)} for row in batch]
    strings = classlabels_strings or ()
    check_label_count(strings, batch)
    return [{label: row[i, ...] for i, label in enumerate(strings)} for row in batch]


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
    # The specification names the element type alone, and files declare scalars as well as vectors of one.
    return SequenceType(MapType(LABEL_TYPES[lists[0]], TensorType(DataType.FLOAT)))
