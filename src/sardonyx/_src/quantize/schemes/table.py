"""The schemes by name, each with its module, which is imported when the scheme is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import cast

from sardonyx._src.dataclass import dataclass
from sardonyx._src.quantize.schemes.scheme import Scheme

WEIGHTS = "sardonyx._src.quantize.schemes.weights"
MIXED = "sardonyx._src.quantize.schemes.mixed"
INT8 = "sardonyx._src.quantize.schemes.int8"
INT8_DYNAMIC = "sardonyx._src.quantize.schemes.int8_dynamic"
FLOAT8 = "sardonyx._src.quantize.schemes.float8"
PRECISION = "sardonyx._src.quantize.schemes.precision"

STATIC_OPTIONS = (
    "ranges activations equalize bias_correction format pairs accuracy metric resume bound".split()
)
WEIGHT_OPTIONS = ("algorithm", "block", "symmetric", "format")


@dataclass(frozen=True, slots=True)
class SchemeEntry:
    """A scheme of the table.

    summary: what becomes of a model, in a few words.
    operator_set: the first version of ai.onnx that has what the scheme writes; models of older ones are converted before.
    options: the fields of `SchemeSettings` beyond the common ones that it has.
    """

    module: str
    function: str
    summary: str
    operator_set: int
    options: Sequence[str]

    def load(self) -> Scheme:
        return cast("Scheme", getattr(import_module(self.module), self.function))


SCHEMES: Mapping[str, SchemeEntry] = {
    # DequantizeLinear-21 is the first one with blocks and 4 bits.
    "int4": SchemeEntry(WEIGHTS, "quantize_int4", "weights of 4 bits", 21, (*WEIGHT_OPTIONS, "outliers")),
    "int8-weights": SchemeEntry(
        WEIGHTS, "quantize_int8", "weights of 8 bits", 21, (*WEIGHT_OPTIONS, "outliers")
    ),
    "mixed": SchemeEntry(
        MIXED,
        "quantize_mixed",
        "weights of 4 or 8 bits or as they are, to a bound",
        21,
        (*WEIGHT_OPTIONS, "size", "signal_to_noise", "latency"),
    ),
    # Scales for each channel are of set 13.
    "int8": SchemeEntry(INT8, "quantize_static", "weights and activations of 8 bits", 13, STATIC_OPTIONS),
    # DynamicQuantizeLinear is of set 11, weights that are stored with a scale for each channel of set 13.
    "int8-dynamic": SchemeEntry(
        INT8_DYNAMIC, "quantize_dynamic", "int8 with the ranges of each run", 13, ("bound",)
    ),
    "float16": SchemeEntry(
        PRECISION, "quantize_float16", "weights and arithmetic in float16", 1, ("keep_types", "bound")
    ),
    # Convolutions and most other operators have bfloat16 from set 22 on.
    "bfloat16": SchemeEntry(
        PRECISION, "quantize_bfloat16", "weights and arithmetic in bfloat16", 22, ("keep_types", "bound")
    ),
    "float32": SchemeEntry(
        PRECISION, "quantize_float32", "float32 in the place of half precision", 1, ("keep_types",)
    ),
    # QuantizeLinear and DequantizeLinear have float8 from set 19 on.
    "float8": SchemeEntry(FLOAT8, "quantize_float8", "weights in float8e4m3fn", 19, ("activations",)),
}
