"""fuse-group-norm: InstanceNormalization of groups of channels, scaled and shifted by channel, is GroupNormalization.

Spec:    Reshape-5 -13 -14 -19 -21 -23 -24 -25, InstanceNormalization-6 -22, Mul-7 -13 -14, Add-7 -13 -14,
         GroupNormalization-21
Before:  r = Reshape(x, grouped)  i = InstanceNormalization<epsilon = @epsilon>(r, ones, zeros)  u = Reshape(i, whole)
         a = Mul(u, scale)  y = Add(a, bias)
After:   y = GroupNormalization<epsilon = @epsilon, num_groups = @groups>(x, scales, biases)
Keeps:   groups with a scale of their own; scales and biases that are no constants, one for each channel; results up to
         rounding.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.match import Match
from sardonyx._src.rewrite.normalized import STASHED, by_channel


@pattern(phase="fuse")
def fuse_group_norm(m: Match) -> Bindings | None:
    found, grouped = m.edit.type(m.value("x")), m.edit.shape(m.value("r"))
    if found is None or found.shape is None or grouped is None or found.dtype not in STASHED:
        return None
    shape = found.shape
    if len(shape) < 3 or len(grouped) < 3 or None in shape or m.edit.shape(m.value("u")) != shape:
        return None
    channels, groups = shape[1], grouped[1]
    if not isinstance(channels, int) or not isinstance(groups, int) or grouped[0] != shape[0]:
        return None
    if channels % groups or not (is_all(m, "ones", 1) and is_all(m, "zeros", 0)):
        return None
    scales, biases = by_channel(m, "scale", channels), by_channel(m, "bias", channels)
    if scales is None or biases is None:
        return None
    return {"groups": groups, "scales": scales, "biases": biases}


def is_all(m: Match, name: str, number: int) -> bool:
    data = m.constant(name)
    return data is not None and bool(np.all(data.astype(np.float64) == number))
