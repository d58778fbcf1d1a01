"""Kernels for one place of a program: what depends on the shapes of inputs and on attributes is done when they are bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sardonyx._src.ir.graph import Node
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.ml.zip_map import build_maps

DirectKernel = Callable[..., RuntimeValue]  # of the inputs by position; its results share no memory with them
Binder = Callable[[Mapping[str, object], Sequence[object]], DirectKernel | None]


def bind_direct_kernel(
    node: Node, attributes: Mapping[str, object], inputs: Sequence[object]
) -> DirectKernel | None:
    """The kernel of a node whose inputs are like these, arrays where they are the same in all runs; None if it has none."""
    binder = BINDERS.get((node.domain, node.op_type))
    return None if binder is None else binder(attributes, inputs)


def bind_gather(_: Mapping[str, object], inputs: Sequence[object]) -> DirectKernel | None:
    """Entries of a constant vector of strings: labels by the numbers of classes."""
    labels, indices = inputs
    if not isinstance(labels, np.ndarray) or labels.ndim != 1 or labels.dtype != object:
        return None
    if not isinstance(indices, np.ndarray) or not indices.ndim:
        return None

    def take(labels: Array, indices: Array) -> Array:
        return labels.take(indices)

    return take


def bind_zip_map(attributes: Mapping[str, object], inputs: Sequence[object]) -> DirectKernel | None:
    """Maps of rows with as many elements as there are labels."""
    (x,) = inputs
    lists = (attributes.get("classlabels_int64s"), attributes.get("classlabels_strings"))
    given = [each for each in lists if isinstance(each, tuple) and each]
    if not isinstance(x, np.ndarray) or x.ndim != 2 or len(given) != 1 or x.shape[1] != len(given[0]):
        return None
    return build_maps(given[0])


BINDERS: Mapping[tuple[str, str], Binder] = {
    ("", "Gather"): bind_gather,
    ("ai.onnx.ml", "ZipMap"): bind_zip_map,
}
