"""MelWeightMatrix: triangular filters that map the bins of a spectrum to bands of equal width on the mel scale.

Spec: ai.onnx MelWeightMatrix-17, with mel(f) = 2595 * log10(1 + f / 700).  The specification does not define the edges of the
bands.  Here, as in the official test case, the range from the lower to the upper edge is divided into num_mel_bins + 2 equal
steps in mel; the edges are the starts of these steps, each rounded down to a bin of a transform of length dft_length + 1.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import dim_add, dim_floordiv
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.signal.output_type import (
    convert_output,
    inferred_output_type,
    known_integer,
    output_type,
    read_integer,
    read_scalar,
)

op = Operator("MelWeightMatrix", tolerance="rounding", parameters=(0, 1, 2, 3, 4))


@op.infer(17)
def infer(inference: Inference) -> Result:
    bands = known_integer(inference, 0, "num_mel_bins", minimum=0)
    length = known_integer(inference, 1, "dft_length", minimum=0)
    return TensorType(inferred_output_type(inference), (dim_add(dim_floordiv(length, 2), 1), bands))


@op.eval(17)
def evaluate(
    num_mel_bins: Array,
    dft_length: Array,
    sample_rate: Array,
    lower_edge_hertz: Array,
    upper_edge_hertz: Array,
    *,
    output_datatype: int,
    context: RunContext,
) -> Array:
    """All inputs are scalars; result: [dft_length // 2 + 1, num_mel_bins]."""
    bands = read_integer(num_mel_bins, "num_mel_bins", minimum=0)
    length = read_integer(dft_length, "dft_length", minimum=0)
    rate = read_integer(sample_rate, "sample_rate", minimum=1)
    low, high = (
        float(read_scalar(lower_edge_hertz, "lower edge")),
        float(read_scalar(upper_edge_hertz, "upper edge")),
    )
    if not 0 <= low <= high < np.inf:
        raise EvaluationError(
            f"edges must satisfy 0 <= lower_edge_hertz <= upper_edge_hertz; got {low} and {high}"
        )
    dtype = output_type(output_datatype)
    check_result_bytes(context, [length // 2 + 1, bands], np.float64, "MelWeightMatrix result")
    edges = bin_edges(bands, length, rate, low, high)
    return convert_output(triangles(np.arange(length // 2 + 1), edges), dtype)


def bin_edges(bands: int, length: int, rate: int, low: float, high: float) -> Array:
    """The bins at which the bands begin, peak and end: [bands + 2] int64."""
    first, last = mel(low), mel(high)
    steps = first + (last - first) / (bands + 2) * np.arange(bands + 2)
    hertz = 700 * (10 ** (steps / 2595) - 1)
    return np.floor((length + 1) * hertz / rate).astype(np.int64)


def mel(hertz: float) -> float:
    return float(2595 * np.log10(1 + hertz / 700))


def triangles(bins: Array, edges: Array) -> Array:
    """The filters, [bins, bands]: each rises from 0 at the start of its band to 1 at the peak, and falls to 0 at the end."""
    bin_ = bins[:, None]
    begin, peak, end = edges[:-2], edges[1:-1], edges[2:]
    rising = (bin_ - begin) / np.maximum(peak - begin, 1)
    falling = (end - bin_) / np.maximum(end - peak, 1)
    return np.where(bin_ == peak, 1.0, np.minimum(rising, falling).clip(0))
