"""The mean error of a layer's results, which is subtracted from its bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from sardonyx._src.dataclass import dataclass
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


@dataclass(frozen=True, slots=True)
class BiasCorrection:
    """What is known of the mean errors of layers.

    means: of the channels of operands, by name.
    shifts: the mean errors of results that were measured, float32 [channels], by the layer's key.
    """

    means: Mapping[str, Array] = field(default_factory=dict)
    shifts: Mapping[str, Array] = field(default_factory=dict)

    def shift(self, layer: ProductLayer, errors: Array) -> Array:
        """What is subtracted from the bias of a layer whose weight has these errors: float32 [channels]."""
        shift = np.zeros(layer.channels, np.float32)
        if layer.operand.name in self.means:
            shift = shift + mean_shift(layer, errors, self.means[layer.operand.name])
        return np.asarray(shift + self.shifts.get(layer.key, 0), np.float32)
