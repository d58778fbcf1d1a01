"""Kernels bound to one node of a program.

Work that depends only on attributes and on the shapes of inputs is done once, when the kernel is bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat

import numpy as np

from sardonyx._src.ir import Array, Node
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.ml.label_encoder import default_of_table, table_of
from sardonyx._src.ops.ml.zip_map import build_maps
from sardonyx._src.ops.random.direct_draws import RandomStates, bind_normal, bind_uniform

DirectKernel = Callable[
    ..., RuntimeValue
]  # its arguments are the inputs; its results share no memory with them
Binder = Callable[[Mapping[str, object], Sequence[object], RandomStates], DirectKernel | None]


def bind_direct_kernel(
    node: Node, attributes: Mapping[str, object], inputs: Sequence[object], states: RandomStates
) -> DirectKernel | None:
    """The kernel of a node; None if it has none.

    inputs: inputs like those of later runs; a constant input is an array
    states: the states of the random numbers that operators draw
    """
    binder = BINDERS.get((node.domain, node.op_type))
    return None if binder is None else binder(attributes, inputs, states)


def bind_gather(_: Mapping[str, object], inputs: Sequence[object], __: RandomStates) -> DirectKernel | None:
    """A Gather from a constant vector of strings: the labels of numbered classes."""
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
    """A ZipMap of rows that have as many elements as there are labels."""
    (x,) = inputs
    lists = (attributes.get("classlabels_int64s"), attributes.get("classlabels_strings"))
    given = [each for each in lists if isinstance(each, tuple) and each]
    if not isinstance(x, np.ndarray) or x.ndim != 2 or len(given) != 1 or x.shape[1] != len(given[0]):
        return None
    return build_maps(given[0])


def bind_label_encoder(
    attributes: Mapping[str, object], _: Sequence[object], __: RandomStates
) -> DirectKernel | None:
    """A look-up of strings in a dictionary; None if keys are equal, for which versions of the operator choose differently."""
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
