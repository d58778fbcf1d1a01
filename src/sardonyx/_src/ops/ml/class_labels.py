"""The labels that classifiers choose from: integers or strings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.ml.lookup import texts


def labels_of(integers: tuple[int, ...] | None, strings: tuple[str, ...] | None) -> Array:
    """The labels as a vector; an empty list counts as one that is not given."""
    if bool(integers) == bool(strings):
        raise EvaluationError("exactly one list of class labels is wanted, integers or strings")
    return np.array(integers, np.int64) if integers else texts(strings or ())


def label_type(t: Inference, integers: str) -> tuple[DataType, int]:
    """The type of the labels and their number; `integers` names the attribute of integer labels."""
    numbers, strings = count(t.attributes, integers), count(t.attributes, "classlabels_strings")
    if bool(numbers) == bool(strings):
        t.fail("exactly one list of class labels is wanted, integers or strings")
    return (DataType.INT64, numbers) if numbers else (DataType.STRING, strings)


def count(attributes: Mapping[str, object], name: str) -> int:
    values = attributes.get(name)
    return len(values) if isinstance(values, tuple) else 0
