"""MelWeightMatrix: triangles that gather the bins of a spectrum into bands of equal width on the mel scale.

Spec: ai.onnx MelWeightMatrix-17, with mel(f) = 2595 * log10(1 + f / 700).  The text leaves open where the edges of the
bands lie; they are the first num_mel_bins + 2 of as many steps from the lower to the upper edge in mel, each cut
down to a bin of a transform of dft_length + 1, which is how the official case has them.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import dim_add, dim_floordiv
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.signal.output_type import converted, output_type, scalar, told_type, told_whole, whole

op = Operator("MelWeightMatrix", tolerance="rounding")


@op.infer(17)
def infer(t: Inference) -> Result:
    bands = told_whole(t, 0, "num_mel_bins", least=0)
    length = told_whole(t, 1, "dft_length", least=0)
    return TensorType(told_type(t), (dim_add(dim_floordiv(length, 2), 1), bands))


@op.eval(17)
def evaluate(
    num_mel_bins: Array,
    dft_length: Array,
    sample_rate: Array,
    lower_edge_hertz: Array,
    upper_edge_hertz: Array,
    *,
    output_datatype: int,
    call: Call,
) -> Array:
    """All inputs are scalars; result: [dft_length // 2 + 1, num_mel_bins]."""
    bands = whole(num_mel_bins, "num_mel_bins", least=0)
    length = whole(dft_length, "dft_length", least=0)
    rate = whole(sample_rate, "sample_rate", least=1)
    low, high = float(scalar(lower_edge_hertz, "lower edge")), float(scalar(upper_edge_hertz, "upper edge"))
    if not 0 <= low <= high < np.inf:
        raise EvaluationError(
            f"edges of {low} and {high} hertz are given, where 0 <= lower <= upper is wanted"
        )
    dtype = output_type(output_datatype)
    claim(call, [length // 2 + 1, bands], np.float64, "MelWeightMatrix result")
    edges = bin_edges(bands, length, rate, low, high)
    return converted(triangles(np.arange(length // 2 + 1), edges), dtype)


def bin_edges(bands: int, length: int, rate: int, low: float, high: float) -> Array:
    """The bins at which the bands begin, peak and end: [bands + 2] int64."""
    first, last = mel(low), mel(high)
    steps = first + (last - first) / (bands + 2) * np.arange(bands + 2)
    hertz = 700 * (10 ** (steps / 2595) - 1)
    return np.floor((length + 1) * hertz / rate).astype(np.int64)


def mel(hertz: float) -> float:
    return float(2595 * np.log10(1 + hertz / 700))


def triangles(bins: Array, edges: Array) -> Array:
    """[bins, bands]: from 0 at the begin of a band up to 1 at its peak and down to 0 at its end."""
    at = bins[:, None]
    begin, peak, end = edges[:-2], edges[1:-1], edges[2:]
    rising = (at - begin) / np.maximum(peak - begin, 1)
    falling = (end - at) / np.maximum(end - peak, 1)
    return np.where(at == peak, 1.0, np.minimum(rising, falling).clip(0))
