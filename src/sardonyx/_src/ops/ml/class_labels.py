"""Class labels of classifiers: integers or strings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.ml.lookup import string_vector


def labels_of(integers: tuple[int, ...] | None, strings: tuple[str, ...] | None) -> Array:
    """The labels as a vector; an empty list is treated as absent."""
    if bool(integers) == bool(strings):
        raise EvaluationError("there must be one list of class labels, integers or strings; got both or none")
    return np.array(integers, np.int64) if integers else string_vector(strings or ())


def label_type(inference: Inference, integers: str) -> tuple[DataType, int]:
    """The type of the labels and their number; `integers` names the attribute of integer labels."""
    numbers, strings = (
        count(inference.attributes, integers),
        count(inference.attributes, "classlabels_strings"),
    )
    if bool(numbers) == bool(strings):
        inference.fail("there must be one list of class labels, integers or strings; got both or none")
    return (DataType.INT64, numbers) if numbers else (DataType.STRING, strings)


def count(attributes: Mapping[str, object], name: str) -> int:
    values = attributes.get(name)
    return len(values) if isinstance(values, tuple) else 0
