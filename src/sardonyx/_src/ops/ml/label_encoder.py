"""LabelEncoder: each element replaced by the value of its key.

Spec: ai.onnx.ml LabelEncoder-1, -2, -4.  Version 1 has one list of strings, and maps strings to indices and indices to
strings.  2 has lists of keys and values of three types; floats are compared by their bits, and of equal keys the first one
counts, which the specification leaves open.  4 has tensors as well; NaN equals NaN, and of equal keys the last one counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import Any

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Attribute, TensorType, build
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.bound_kernel import BoundKernel, NodeBinding
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.lookup import find_positions, string_vector, take_or_default
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("LabelEncoder", "ai.onnx.ml", string_keys=("classes_strings", "keys_strings", "keys_tensor"))
LIST_TYPES: dict[str, np.dtype[Any]] = {
    "floats": np.dtype(np.float32),
    "int64s": np.dtype(np.int64),
    "strings": np.dtype(object),
}
UNMATCHED_VALUES = {
    "f": -0.0,
    "i": -1,
    "O": "_Unused",
}  # defaults for unknown keys, by the kind of the values' dtype


@op.eval(1)
def eval_1(
    X: Array, *, classes_strings: tuple[str, ...] = (), default_int64: int, default_string: str
) -> Array:
    """X, result: any shape; int64 for strings, strings for int64."""
    labels = string_vector(classes_strings)
    if X.dtype.kind == "O":
        positions = find_positions(X, labels, last=True)
        return np.where(positions < 0, default_int64, positions)
    return take_or_default(np.where((X >= 0) & (len(labels) > X), X, -1), labels, default_string)


@op.eval(2)
def eval_2(
    X: Array,
    *,
    keys_floats: tuple[float, ...] | None = None,
    keys_int64s: tuple[int, ...] | None = None,
    keys_strings: tuple[str, ...] | None = None,
    values_floats: tuple[float, ...] | None = None,
    values_int64s: tuple[int, ...] | None = None,
    values_strings: tuple[str, ...] | None = None,
    default_float: float,
    default_int64: int,
    default_string: str,
) -> Array:
    keys = one_of("keys", floats=keys_floats, int64s=keys_int64s, strings=keys_strings)
    values = one_of("values", floats=values_floats, int64s=values_int64s, strings=values_strings)
    check_table(X.dtype, keys, values)
    default = {"f": default_float, "i": default_int64, "O": default_string}[values.dtype.kind]
    return take_or_default(find_positions(X, keys, last=False, bitwise=True), values, default)


@op.eval(4)
def evaluate(
    X: Array,
    *,
    keys_floats: tuple[float, ...] | None = None,
    keys_int64s: tuple[int, ...] | None = None,
    keys_strings: tuple[str, ...] | None = None,
    keys_tensor: Array | None = None,
    values_floats: tuple[float, ...] | None = None,
    values_int64s: tuple[int, ...] | None = None,
    values_strings: tuple[str, ...] | None = None,
    values_tensor: Array | None = None,
    default_float: float,
    default_int64: int,
    default_string: str,
    default_tensor: Array | None = None,
) -> Array:
    """X: any shape, of the type of the keys; result: the same shape, of the type of the values."""
    keys = one_of("keys", keys_tensor, floats=keys_floats, int64s=keys_int64s, strings=keys_strings)
    values = one_of(
        "values", values_tensor, floats=values_floats, int64s=values_int64s, strings=values_strings
    )
    check_table(X.dtype, keys, values)
    attributes = {
        "default_tensor": default_tensor,
        "values_tensor": values_tensor,
        "default_float": default_float,
        "default_int64": default_int64,
        "default_string": default_string,
    }
    default = default_of_table(attributes, values)
    return take_or_default(find_positions(X, keys, last=True), values, default)


def default_of_table(attributes: Mapping[str, object], values: Array) -> object:
    """The value for elements that are no keys."""
    default, kind = attributes.get("default_tensor"), values.dtype.kind
    if isinstance(default, np.ndarray):
        return single(default, values.dtype)
    if attributes.get("values_tensor") is not None:
        return UNMATCHED_VALUES[kind]
    return attributes[DEFAULT_ATTRIBUTES[kind]]


@op.bind(2, 4)
def bind(binding: NodeBinding) -> BoundKernel | None:
    """A look-up of strings in a dictionary; None if keys are equal, for which the versions choose differently."""
    keys, values = table_of(binding.attributes, "keys"), table_of(binding.attributes, "values")
    table = dict(zip(keys.tolist(), values.tolist(), strict=True))
    if keys.dtype != object or len(table) < len(keys):
        return None
    default, dtype = default_of_table(binding.attributes, values), values.dtype

    def look_up(x: Array) -> Array:
        mapped = map(table.get, x.reshape(-1).tolist(), repeat(default))
        return np.fromiter(mapped, dtype, x.size).reshape(x.shape)

    return BoundKernel(look_up)


def one_of(what: str, tensor: Array | None = None, **lists: tuple[object, ...] | None) -> Array:
    """The one list or tensor that is set, as a vector."""
    present = {name: values_ for name, values_ in lists.items() if values_ is not None}
    if len(present) + (tensor is not None) != 1:
        named = [f"{what}_{name}" for name in present] + [f"{what}_tensor"] * (tensor is not None)
        raise EvaluationError(f"there must be one list of {what}; got {named or 'none'}")
    if tensor is not None:
        return tensor.reshape(-1)
    ((name, values),) = present.items()
    result: Array = np.empty(len(values), LIST_TYPES[name])
    result[:] = values
    return result


def check_table(x: np.dtype[np.generic], keys: Array, values: Array) -> None:
    """Raises EvaluationError unless keys have type `x` and values match them in number."""
    if x != keys.dtype:
        raise EvaluationError(f"X must have the type of the keys, {keys.dtype}; got {x}")
    if len(keys) != len(values):
        raise EvaluationError(f"keys and values must be of one length; got {len(keys)} and {len(values)}")


def single(default: Array, dtype: np.dtype[np.generic]) -> object:
    if default.size != 1 or default.dtype != dtype:
        actual = f"{default.dtype}{list(default.shape)}"
        raise EvaluationError(f"default_tensor must be one element of {dtype}; got {actual}")
    return default.reshape(-1)[0]


# --- conversion ------------------------------------------------------------------------------

LIST_ATTRIBUTES = {
    "f": ("floats", AttributeType.FLOATS),
    "i": ("int64s", AttributeType.INTS),
    "O": ("strings", AttributeType.STRINGS),
}
DEFAULT_ATTRIBUTES = {"f": "default_float", "i": "default_int64", "O": "default_string"}
TABLE_ATTRIBUTES = {
    name for what in ("keys", "values") for name in (f"{what}_tensor", *(f"{what}_{n}" for n in LIST_TYPES))
}


@op.convert((1, 2))
def convert_1_to_2(adapter: Adapter) -> AdaptedNode:
    """The keys and values are strings and their indices, or the reverse; of equal strings the last one counts."""
    labels = string_vector(adapter.inference.attributes["classes_strings"] or ())  # type: ignore[arg-type]  # the schema sets the types
    indices = np.arange(len(labels))
    if adapter.dtype(0) is DataType.STRING:
        return with_table(adapter, *distinct(labels, indices, last=True), -1)
    return with_table(adapter, indices, labels, "_Unused")


@op.convert((2, 1))
def convert_2_to_1(adapter: Adapter) -> AdaptedNode:
    """This needs a table from strings to 0, 1, 2 and so on, or from these to strings."""
    keys, values = node_table(adapter, "keys"), node_table(adapter, "values")
    for labels, indices in ((keys, values), (values, keys)):
        is_numbered = indices.dtype == np.int64 and (indices == np.arange(len(indices))).all()
        if labels.dtype == object and is_numbered:
            if len(set(labels)) < len(labels) and labels is keys:
                break
            drop = (*TABLE_ATTRIBUTES, "default_float")
            return adapter.same(drop=drop, classes_strings=strings("classes_strings", labels))
    return adapter.refuse("the target version maps strings to their indices, and nothing else")


@op.convert((2, 4))
def convert_2_to_4(adapter: Adapter) -> AdaptedNode:
    """In version 4 the last one of equal keys counts, and zeros of both signs are equal."""
    keys = node_table(adapter, "keys")
    if keys.dtype.kind == "f" and ((keys == 0) | np.isnan(keys)).any():
        adapter.refuse(
            "zeros and NaN are compared by their bits here, and are one key each in the target version"
        )
    return with_table(adapter, *distinct(keys, node_table(adapter, "values"), last=False))


@op.convert((4, 2))
def convert_4_to_2(adapter: Adapter) -> AdaptedNode:
    keys, values = node_table(adapter, "keys"), node_table(adapter, "values")
    for side in (keys, values):
        if side.dtype not in LIST_TYPES.values():
            adapter.refuse(f"the target version has no keys or values of {DataType.of(side.dtype).text}")
    if keys.dtype.kind == "f" and ((keys == 0) | np.isnan(keys)).any():
        adapter.refuse("the target version compares floats by their bits, and a key is 0 or NaN")
    default = adapter.inference.attributes.get("default_tensor")
    if isinstance(default, np.ndarray):
        return with_table(adapter, *distinct(keys, values, last=True), single(default, values.dtype))
    if adapter.has("values_tensor"):
        return with_table(adapter, *distinct(keys, values, last=True), UNMATCHED_VALUES[values.dtype.kind])
    return with_table(adapter, *distinct(keys, values, last=True))


def node_table(adapter: Adapter, what: str) -> Array:
    """The keys or the values of the node, as a vector."""
    try:
        return table_of(adapter.inference.attributes, what)
    except EvaluationError as error:
        adapter.refuse(error.why)


def table_of(a: Mapping[str, object], what: str) -> Array:
    """The keys or the values in attributes, as a vector; raises EvaluationError unless one attribute has them."""
    lists = {name: a.get(f"{what}_{name}") for name in LIST_TYPES}
    return one_of(what, a.get(f"{what}_tensor"), **lists)  # type: ignore[arg-type]  # the schema sets the types


def distinct(keys: Array, values: Array, *, last: bool) -> tuple[Array, Array]:
    """Keys and values without duplicate keys; of equal keys, the last or the first one is kept."""
    order = range(len(keys)) if last else range(len(keys) - 1, -1, -1)
    indices = sorted({key: i for i, key in zip(order, keys[list(order)].tolist(), strict=True)}.values())
    return keys[indices], values[indices]


def with_table(adapter: Adapter, keys: Array, values: Array, default: object = None) -> AdaptedNode:
    """The node with these lists, and with `default` unless it has a default of its own."""
    lists = []
    for what, side in (("keys", keys), ("values", values)):
        name, kind = LIST_ATTRIBUTES[side.dtype.kind]
        if kind is AttributeType.STRINGS:
            lists.append(strings(f"{what}_{name}", side))
        else:
            lists.append(Attribute(f"{what}_{name}", kind, tuple(side.tolist())))
    attributes = {a.name: a for a in lists}
    name = DEFAULT_ATTRIBUTES[values.dtype.kind]
    if default is not None and not adapter.has(name):
        attributes[name] = build.attribute(name, default)
    return adapter.same_with(attributes, drop=(*TABLE_ATTRIBUTES, "default_tensor", "classes_strings"))


def strings(name: str, labels: Array) -> Attribute:
    return Attribute(name, AttributeType.STRINGS, tuple(x.encode("utf-8", "surrogateescape") for x in labels))


# --- inference -------------------------------------------------------------------------------


@op.infer(1)
def infer_1(inference: Inference) -> Result:
    dtype = inference.dtype(0)
    if dtype is None:
        return None
    return TensorType(DataType.INT64 if dtype is DataType.STRING else DataType.STRING, inference.shape(0))


@op.infer(2, 4)
def infer(inference: Inference) -> Result:
    try:
        keys, values = table_of(inference.attributes, "keys"), table_of(inference.attributes, "values")
        x = inference.dtype(0)
        check_table(keys.dtype if x is None else x.numpy, keys, values)
        default = inference.attributes.get("default_tensor")
        if isinstance(default, np.ndarray):
            single(default, values.dtype)
    except EvaluationError as error:
        inference.fail(error.why)
    return TensorType(DataType.of(values.dtype), inference.shape(0))
