"""The mean error of a layer's results that rounded weights cause."""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.quantize.activations.layers import ProductLayer


def mean_shift(layer: ProductLayer, errors: Array, means: Array) -> Array:
    """The mean error of each output channel: float32 [channels].

    errors: of the weight, float32 of its shape.  means: of the channels of the operand.
    """
    if not layer.is_convolution:
        return np.asarray(np.tensordot(errors, means, ([1 - layer.axis], [0])), np.float32)
    by_channel = errors.reshape(*errors.shape[:2], -1).sum(axis=2)  # [channels, channels of a group]
    groups = len(means) // errors.shape[1]
    parts = by_channel.reshape(groups, -1, errors.shape[1])
    shifts = np.einsum("goi,gi->go", parts, means.reshape(groups, -1))
    return np.asarray(shifts.reshape(-1), np.float32)
