"""Which layers of a model are computed in integers."""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.quantize.activations.layers import ProductLayer, find_product_layers
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.quantize.schemes.scheme import LayerPatterns, require_finite
from sardonyx._src.rewrite.engine.view import View


def choose_layers(view: View, patterns: LayerPatterns) -> tuple[list[ProductLayer], list[KeptLayer]]:
    """The layers that patterns choose, and those that stay in floats, with the reasons."""
    layers, kept = [], []
    for item in find_product_layers(view):
        if isinstance(item, KeptLayer):
            kept.append(item)
        elif why := patterns.why_not(item.names):
            kept.append(KeptLayer(item.name, why))
        else:
            require_finite("model", f"the weight of {item.name!r}", item.tensor.numpy())
            layers.append(item)
    return layers, kept


def layers_of_keys(view: View, keys: Iterable[str]) -> list[ProductLayer]:
    """The layers with these keys, in the order of the graph."""
    chosen = set(keys)
    layers = (item for item in find_product_layers(view) if isinstance(item, ProductLayer))
    return [layer for layer in layers if layer.key in chosen]
