"""BatchNormalization in inference mode as a factor and a shift per channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.ir import Array, Node


def is_inference(node: Node, attributes: Mapping[str, object]) -> bool:
    """Whether a BatchNormalization normalizes each channel with the statistics in its inputs, not with those of the batch."""
    named = sum(1 for v in node.outputs if v.name)
    return named == 1 and attributes.get("training_mode", 0) == 0 and attributes.get("spatial", 1) == 1


def fold_statistics(
    node: Node, attributes: Mapping[str, object], statistics: Sequence[Array | None]
) -> tuple[Array, Array] | None:
    """The factor and the shift [C] in float64 with which a BatchNormalization computes x * factor + shift.

    statistics: the elements of its scale, bias, mean and variance, None for one that is not constant.
    Returns None unless all are constant and of one shape [C], and the factor is finite.
    """
    constants = [array.astype(np.float64) for array in statistics if array is not None]
    if len(constants) != 4 or not is_inference(node, attributes):
        return None
    scale, bias, mean, variance = constants
    if scale.ndim != 1 or any(array.shape != scale.shape for array in constants):
        return None
    epsilon = attributes["epsilon"]
    assert isinstance(epsilon, float), "epsilon is a float"
    factor = scale / np.sqrt(variance + epsilon)
    return (factor, bias - mean * factor) if np.isfinite(factor).all() else None
