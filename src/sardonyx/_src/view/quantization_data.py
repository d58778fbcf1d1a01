"""The errors of a quantization in the data of a page."""

from __future__ import annotations

from typing import Literal, TypedDict


class LayerErrors(TypedDict):
    """Rows of nodes of quantized layers; decibels are None where not measured or without error, bits 0 where all have as many."""

    graph: list[int]
    node: list[int]
    layer: list[str]
    share: list[float]
    alone: list[float | None]
    own: list[float | None]
    bits: list[int]


class KeptLayers(TypedDict):
    graph: list[int]
    node: list[int]
    why: list[str]


class QuantizationData(TypedDict):
    """The errors of a quantization; shares are those of the final error, or of the sum of the layers' own errors."""

    scheme: str
    measure: Literal["final", "layers"]
    outputs: list[tuple[str, float | None]]
    nodes: LayerErrors
    kept: KeptLayers
