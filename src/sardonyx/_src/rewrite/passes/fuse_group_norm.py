"""fuse-group-norm: fuse InstanceNormalization over channel groups, scale and bias into GroupNormalization.

Spec:    Reshape-5 -13 -14 -19 -21 -23 -24 -25, InstanceNormalization-6 -22, Mul-7 -13 -14, Add-7 -13 -14,
         GroupNormalization-21
Before:  r = Reshape(x, grouped)  i = InstanceNormalization<epsilon = @epsilon>(r, ones, zeros)  u = Reshape(i, whole)
         a = Mul(u, scale)  y = Add(a, bias)
After:   y = GroupNormalization<epsilon = @epsilon, num_groups = @groups>(x, scales, biases)
Keeps:   scales per group; scales and biases that are not constants per channel; results up to rounding.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match
from sardonyx._src.rewrite.support.normalization import NORMALIZED_TYPES, per_channel


@pattern(phase="fuse")
def fuse_group_norm(match: Match) -> Bindings | None:
    type, grouped = match.edit.type(match.value("x")), match.edit.shape(match.value("r"))
    if type is None or type.shape is None or grouped is None or type.dtype not in NORMALIZED_TYPES:
        return None
    shape = type.shape
    if len(shape) < 3 or len(grouped) < 3 or None in shape or match.edit.shape(match.value("u")) != shape:
        return None
    channels, groups = shape[1], grouped[1]
    if not isinstance(channels, int) or not isinstance(groups, int) or grouped[0] != shape[0]:
        return None
    if channels % groups or not (is_all(match, "ones", 1) and is_all(match, "zeros", 0)):
        return None
    scales, biases = per_channel(match, "scale", channels), per_channel(match, "bias", channels)
    if scales is None or biases is None:
        return None
    return {"groups": groups, "scales": scales, "biases": biases}


def is_all(match: Match, name: str, number: int) -> bool:
    data = match.constant(name)
    return data is not None and bool(np.all(data.astype(np.float64) == number))
