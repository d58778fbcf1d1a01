"""Kernels for one place of a program: what depends on the shapes of inputs and on attributes is done when they are bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat

import numpy as np

from sardonyx._src.ir.graph import Node
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.ml.label_encoder import default_of_table, table_of
from sardonyx._src.ops.ml.zip_map import build_maps
from sardonyx._src.ops.random.direct_draws import RandomStates, bind_normal, bind_uniform

DirectKernel = Callable[..., RuntimeValue]  # of the inputs by position; its results share no memory with them
Binder = Callable[[Mapping[str, object], Sequence[object], RandomStates], DirectKernel | None]


def bind_direct_kernel(
    node: Node, attributes: Mapping[str, object], inputs: Sequence[object], states: RandomStates
) -> DirectKernel | None:
    """The kernel of a node whose inputs are like these, arrays where they are the same in all runs; None if it has none.

    states: from which random operators draw.
    """
    binder = BINDERS.get((node.domain, node.op_type))
    return None if binder is None else binder(attributes, inputs, states)


def bind_gather(_: Mapping[str, object], inputs: Sequence[object], __: RandomStates) -> DirectKernel | None:
    """Entries of a constant vector of strings: labels by the numbers of classes."""
    labels, indices = inputs
    if not isinstance(labels, np.ndarray) or labels.ndim != 1 or labels.dtype != object:
        return None
    if not isinstance(indices, np.ndarray) or not indices.ndim:
        return None

    def take(labels: Array, indices: Array) -> Array:
        return labels.take(indices)

    return take


def bind_zip_map(
    attributes: Mapping[str, object], inputs: Sequence[object], _: RandomStates
) -> DirectKernel | None:
    """Maps of rows with as many elements as there are labels."""
    (x,) = inputs
    lists = (attributes.get("classlabels_int64s"), attributes.get("classlabels_strings"))
    given = [each for each in lists if isinstance(each, tuple) and each]
    if not isinstance(x, np.ndarray) or x.ndim != 2 or len(given) != 1 or x.shape[1] != len(given[0]):
        return None
    return build_maps(given[0])


def bind_label_encoder(
    attributes: Mapping[str, object], _: Sequence[object], __: RandomStates
) -> DirectKernel | None:
    """A look-up of strings in one dictionary of values; of equal keys, versions of the operator choose differently."""
    if "classes_strings" in attributes:
        return None
    keys, values = table_of(attributes, "keys"), table_of(attributes, "values")
    table = dict(zip(keys.tolist(), values.tolist(), strict=True))
    if keys.dtype != object or len(table) < len(keys):
        return None
    default, dtype = default_of_table(attributes, values), values.dtype

    def look_up(x: Array) -> Array:
        mapped = map(table.get, x.reshape(-1).tolist(), repeat(default))
        return np.fromiter(mapped, dtype, x.size).reshape(x.shape)

    return look_up


BINDERS: Mapping[tuple[str, str], Binder] = {
    ("", "Gather"): bind_gather,
    ("", "RandomNormal"): bind_normal,
    ("", "RandomNormalLike"): bind_normal,
    ("", "RandomUniform"): bind_uniform,
    ("", "RandomUniformLike"): bind_uniform,
    ("ai.onnx.ml", "LabelEncoder"): bind_label_encoder,
    ("ai.onnx.ml", "ZipMap"): bind_zip_map,
}
