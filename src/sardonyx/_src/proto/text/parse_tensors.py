"""Reads tensors: a type with numbers as dimensions, a name, and the data in one of four notations."""

from __future__ import annotations

import numpy as np

from sardonyx._src import dtypes
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import (
    StringStringEntryProto,
    TensorProto,
    TensorProtoDataLocation,
    TypeProto,
    TypeProtoTensor,
)
from sardonyx._src.proto.record import Payload
from sardonyx._src.proto.text.elements import raw_data
from sardonyx._src.proto.text.lexer import Lexer
from sardonyx._src.proto.text.parse_records import read, read_bytes, read_extras, reads
from sardonyx._src.proto.text.parse_types import at_type, read_type
from sardonyx._src.proto.text.words import DATA_TYPES

DATA = "the tensor's data, as `{…}`"


@reads(TensorProto)
def read_tensor(p: Lexer) -> TensorProto:
    """`type name = data`; the name and the `=` may be absent."""
    if not at_type(p):
        raise p.expected("the type of a tensor")
    at = p.start
    return read_constant(p, read_type(p), at)


def at_constant(p: Lexer) -> bool:
    """Whether, after a type, the name or the data of a tensor follows."""
    return p.kind in ("name", "string") or p.at("{") or p.at("=")


def read_constant(p: Lexer, type_: TypeProto, at: int) -> TensorProto:
    """The rest of a tensor whose type, which stands at `at`, has been read."""
    found = typed_tensor(p, type_, at)
    if p.kind == "string" or (p.kind == "name" and p.value != "raw_data"):
        found.name = p.quotable("the tensor's name")
    read_data(p, found, p.take("="))
    return found


def typed_tensor(p: Lexer, type_: TypeProto, at: int) -> TensorProto:
    """A tensor of the type, without data."""
    if (
        not isinstance(tensor := type_.tensor_type, TypeProtoTensor)
        or type_.has("denotation")
        or type_.unknown
    ):
        raise p.error("a tensor has a plain tensor type", at)
    shape = tensor.shape
    if shape is None:
        raise p.error("a tensor has dimensions; without brackets after its element type it is a scalar", at)
    if any([f.name for f, _ in dim.present()] != ["dim_value"] or dim.unknown for dim in shape.dim):
        raise p.error("the dimensions of a tensor are numbers", at)
    found = TensorProto(data_type=tensor.elem_type)
    if shape.dim:
        found.dims = [dim.dim_value for dim in shape.dim]
    return found


def read_data(p: Lexer, found: TensorProto, external: bool = True) -> None:
    """The data, and what stands behind it; `external` allows for the list of pairs, which needs a `=`."""
    if p.kind == "name" and p.value == "raw_data":
        p.advance()
        p.expect(":", "after `raw_data`")
        found.raw_data = read_raw(p, DATA_TYPES[found.data_type], found.dims if found.has("dims") else [])
    elif p.take("{"):
        read_entries(p, found)
    elif external and p.take("["):
        found.external_data = [
            read(p, StringStringEntryProto) for _ in p.items("]", "after a pair of external data")
        ]
        found.data_location = TensorProtoDataLocation.EXTERNAL
    else:
        raise p.expected(DATA)
    read_extras(p, found)


def read_raw(p: Lexer, dtype: DataType, dims: list[int]) -> Payload:
    """Bytes, or the elements in braces."""
    if not p.take("{"):
        return read_bytes(p, 'the elements in `{…}` or the bytes, as `base64 "…"`, after `raw_data`')
    begin = p.start
    whole = not (dtype.is_float or dtype.is_complex)
    texts = p.number_texts("}", whole, f"{'an integer' if whole else 'a number'} as element of the tensor")
    return p.converted(begin, lambda: raw_data(texts, dtype, dims))


def read_entries(p: Lexer, found: TensorProto) -> None:
    """The entries of the typed field, as the field stores them."""
    dtype = DATA_TYPES[found.data_type]
    if dtype is DataType.STRING:
        strings = [
            read_bytes(p, "a string in quotes") for _ in p.items("}", "after an element of the tensor")
        ]
        if strings:
            found.string_data = list(strings)
    elif dtype is DataType.UNDEFINED:
        p.expect("}", "at once, as an undefined tensor has no entries")
    else:
        field = TensorProto.BY_NAME[dtypes.field_of(dtype)]
        what = "a number" if field.kind in ("float", "double") else "an integer"
        values = p.numbers(field.kind, "}", f"{what} as element of the tensor", field.packed)
        if isinstance(values, np.ndarray) or values:
            setattr(found, field.name, values)
