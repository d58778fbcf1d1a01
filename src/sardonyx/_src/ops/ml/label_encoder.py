"""LabelEncoder: each element replaced by the value that stands beside its key.

Spec: ai.onnx.ml LabelEncoder-1, -2, -4.  Version 1 has one list of strings: they become their places, and places become
strings.  2 has lists of keys and values of three types; floats are looked up by their bits, and the first of equal
keys counts, of which the text says nothing.  4 has tensors as well; NaN equals NaN, and the last of equal keys counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import build
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.lookup import chosen, positions, texts

op = Operator("LabelEncoder", "ai.onnx.ml")
DTYPES: dict[str, np.dtype[Any]] = {
    "floats": np.dtype(np.float32),
    "int64s": np.dtype(np.int64),
    "strings": np.dtype(object),
}
UNFOUND = {"f": -0.0, "i": -1, "O": "_Unused"}  # by kind of the values' type


@op.eval(1)
def eval_1(
    X: Array, *, classes_strings: tuple[str, ...] = (), default_int64: int, default_string: str
) -> Array:
    """X, result: any shape; int64 for strings, strings for int64."""
    labels = texts(classes_strings)
    if X.dtype.kind == "O":
        places = positions(X, labels, last=True)
        return np.where(places < 0, default_int64, places)
    return chosen(np.where((X >= 0) & (len(labels) > X), X, -1), labels, default_string)


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
    return chosen(positions(X, keys, last=False, bitwise=True), values, default)


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
    """X, result: any shape; of the type of the keys and of the values."""
    keys = one_of("keys", keys_tensor, floats=keys_floats, int64s=keys_int64s, strings=keys_strings)
    values = one_of(
        "values", values_tensor, floats=values_floats, int64s=values_int64s, strings=values_strings
    )
    check_table(X.dtype, keys, values)
    kind = values.dtype.kind
    if default_tensor is not None:
        default = single(default_tensor, values.dtype)
    elif values_tensor is not None:
        default = UNFOUND[kind]
    else:
        default = {"f": default_float, "i": default_int64, "O": default_string}[kind]
    return chosen(positions(X, keys, last=True), values, default)


def one_of(what: str, tensor: Array | None = None, **lists: tuple[object, ...] | None) -> Array:
    """The one list or tensor that is given, as a vector."""
    given = {name: found for name, found in lists.items() if found is not None}
    if len(given) + (tensor is not None) != 1:
        named = [f"{what}_{name}" for name in given] + [f"{what}_tensor"] * (tensor is not None)
        raise EvaluationError(f"exactly one list of {what} is wanted, found {named or 'none'}")
    if tensor is not None:
        return tensor.reshape(-1)
    ((name, values),) = given.items()
    result: Array = np.empty(len(values), DTYPES[name])
    result[:] = values
    return result


def check_table(x: np.dtype[np.generic], keys: Array, values: Array) -> None:
    """Raises EvaluationError unless elements of type `x` can be looked up."""
    if x != keys.dtype:
        raise EvaluationError(f"X has elements of {x}, where the keys are of {keys.dtype}")
    if len(keys) != len(values):
        raise EvaluationError(f"{len(keys)} keys and {len(values)} values are given, where pairs are wanted")


def single(default: Array, dtype: np.dtype[np.generic]) -> object:
    if default.size != 1 or default.dtype != dtype:
        what = f"default_tensor is {default.dtype}{list(default.shape)}"
        raise EvaluationError(f"{what}, where one element of {dtype} is wanted")
    return default.reshape(-1)[0]


# --- conversion ------------------------------------------------------------------------------

LISTS = {
    "f": ("floats", AttributeType.FLOATS),
    "i": ("int64s", AttributeType.INTS),
    "O": ("strings", AttributeType.STRINGS),
}
DEFAULTS = {"f": "default_float", "i": "default_int64", "O": "default_string"}
HELD = {name for what in ("keys", "values") for name in (f"{what}_tensor", *(f"{what}_{n}" for n in DTYPES))}


@op.convert((1, 2))
def to_2(c: Change) -> Converted:
    """Strings and their places; of equal strings the last counts."""
    labels = texts(c.t.attributes["classes_strings"] or ())  # type: ignore[arg-type]
    places = np.arange(len(labels))
    if c.dtype(0) is DataType.STRING:
        return paired(c, *distinct(labels, places, last=True), -1)
    return paired(c, places, labels, "_Unused")


@op.convert((2, 1))
def to_1(c: Change) -> Converted:
    """Keys and values of which one side is 0, 1, 2 and so on."""
    keys, values = held(c, "keys"), held(c, "values")
    for labels, places in ((keys, values), (values, keys)):
        if labels.dtype == object and places.dtype == np.int64 and (places == np.arange(len(places))).all():
            if len(set(labels)) < len(labels) and labels is keys:
                break
            drop = (*HELD, "default_float")
            return c.same(drop=drop, classes_strings=strings("classes_strings", labels))
    return c.refuse("it relates strings to their places there, and nothing else")


@op.convert((2, 4))
def to_4(c: Change) -> Converted:
    """Of equal keys the last counts there, and zeros of both signs are equal."""
    keys = held(c, "keys")
    if keys.dtype.kind == "f" and ((keys == 0) | np.isnan(keys)).any():
        c.refuse("zeros and NaN are looked up by their bits, and are one key each there")
    return paired(c, *distinct(keys, held(c, "values"), last=False))


@op.convert((4, 2))
def to_2_again(c: Change) -> Converted:
    keys, values = held(c, "keys"), held(c, "values")
    for found in (keys, values):
        if found.dtype not in DTYPES.values():
            c.refuse(f"there are no keys or values of {DataType.of(found.dtype).text} there")
    if keys.dtype.kind == "f" and ((keys == 0) | np.isnan(keys)).any():
        c.refuse("floats are looked up by their bits there, and a key is 0 or NaN")
    default = c.t.attributes.get("default_tensor")
    if isinstance(default, np.ndarray):
        return paired(c, *distinct(keys, values, last=True), single(default, values.dtype))
    if c.has("values_tensor"):
        return paired(c, *distinct(keys, values, last=True), UNFOUND[values.dtype.kind])
    return paired(c, *distinct(keys, values, last=True))


def held(c: Change, what: str) -> Array:
    """The keys or the values that the node has, as a vector."""
    try:
        return listed(c.t.attributes, what)
    except EvaluationError as error:
        c.refuse(error.why)


def listed(a: Mapping[str, object], what: str) -> Array:
    """The keys or the values that attributes give, as a vector; raises EvaluationError unless one of them does."""
    lists = {name: a.get(f"{what}_{name}") for name in DTYPES}
    return one_of(what, a.get(f"{what}_tensor"), **lists)  # type: ignore[arg-type]


def distinct(keys: Array, values: Array, *, last: bool) -> tuple[Array, Array]:
    """Keys and values without keys that do not count because an equal one does."""
    order = range(len(keys)) if last else range(len(keys) - 1, -1, -1)
    kept = sorted({key: i for i, key in zip(order, keys[list(order)].tolist(), strict=True)}.values())
    return keys[kept], values[kept]


def paired(c: Change, keys: Array, values: Array, default: object = None) -> Converted:
    """The node with these lists, and with a default unless it is to keep its own."""
    lists = []
    for what, found in (("keys", keys), ("values", values)):
        name, kind = LISTS[found.dtype.kind]
        if kind is AttributeType.STRINGS:
            lists.append(strings(f"{what}_{name}", found))
        else:
            lists.append(Attribute(f"{what}_{name}", kind, tuple(found.tolist())))
    attributes = {a.name: a for a in lists}
    name = DEFAULTS[values.dtype.kind]
    if default is not None and not c.has(name):
        attributes[name] = build.attribute(name, default)
    return c.kept_with(attributes, drop=(*HELD, "default_tensor", "classes_strings"))


def strings(name: str, found: Array) -> Attribute:
    return Attribute(name, AttributeType.STRINGS, tuple(x.encode("utf-8", "surrogateescape") for x in found))


# --- inference -------------------------------------------------------------------------------


@op.infer(1)
def infer_1(t: Inference) -> Result:
    dtype = t.dtype(0)
    if dtype is None:
        return None
    return TensorType(DataType.INT64 if dtype is DataType.STRING else DataType.STRING, t.shape(0))


@op.infer(2, 4)
def infer(t: Inference) -> Result:
    try:
        keys, values = listed(t.attributes, "keys"), listed(t.attributes, "values")
        x = t.dtype(0)
        check_table(keys.dtype if x is None else x.numpy, keys, values)
        default = t.attributes.get("default_tensor")
        if isinstance(default, np.ndarray):
            single(default, values.dtype)
    except EvaluationError as error:
        t.fail(error.why)
    return TensorType(DataType.of(values.dtype), t.shape(0))
