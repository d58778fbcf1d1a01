"""Parsers of tensors: a type with constant dimensions, a name, and the data in one of four notations."""

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
from sardonyx._src.proto.text.parse_records import read, read_bytes, read_extras, register_reader
from sardonyx._src.proto.text.parse_types import is_at_type, read_type
from sardonyx._src.proto.text.words import DATA_TYPES

DATA_NOTATION = "the tensor's data, as `{…}`"


@register_reader(TensorProto)
def read_tensor(lexer: Lexer) -> TensorProto:
    """`type name = data`; the name and the `=` are optional."""
    if not is_at_type(lexer):
        raise lexer.expected_error("the type of a tensor")
    start = lexer.start
    return read_constant(lexer, read_type(lexer), start)


def is_at_constant(lexer: Lexer) -> bool:
    """Whether the name or the data of a tensor follows a type."""
    return lexer.kind in ("name", "string") or lexer.is_at("{") or lexer.is_at("=")


def read_constant(lexer: Lexer, type_: TypeProto, start: int) -> TensorProto:
    """The rest of a tensor after its type.  start: the position of the type in the text."""
    tensor = typed_tensor(lexer, type_, start)
    if lexer.kind == "string" or (lexer.kind == "name" and lexer.value != "raw_data"):
        tensor.name = lexer.read_quotable_name("the tensor's name")
    read_data(lexer, tensor, lexer.take("="))
    return tensor


def typed_tensor(lexer: Lexer, type_: TypeProto, start: int) -> TensorProto:
    """A tensor of the type, without data."""
    if (
        not isinstance(tensor := type_.tensor_type, TypeProtoTensor)
        or type_.has("denotation")
        or type_.unknown
    ):
        raise lexer.error(
            "the type of a tensor must be a tensor type without denotation; got another type", start
        )
    shape = tensor.shape
    if shape is None:
        raise lexer.error("a tensor must have dimensions; got `[]`; omit the brackets for a scalar", start)
    if any([f.name for f, _ in dim.present()] != ["dim_value"] or dim.unknown for dim in shape.dim):
        raise lexer.error("the dimensions of a tensor must be numbers; got a name or `?`", start)
    record = TensorProto(data_type=tensor.elem_type)
    if shape.dim:
        record.dims = [dim.dim_value for dim in shape.dim]
    return record


def read_data(lexer: Lexer, tensor: TensorProto, external: bool = True) -> None:
    """The data and the `@{…}` after them.

    external: whether external data, a list of pairs, are allowed: only after a `=`.
    """
    if lexer.kind == "name" and lexer.value == "raw_data":
        lexer.advance()
        lexer.expect(":", "after `raw_data`")
        tensor.raw_data = read_raw(
            lexer, DATA_TYPES[tensor.data_type], tensor.dims if tensor.has("dims") else []
        )
    elif lexer.take("{"):
        read_entries(lexer, tensor)
    elif external and lexer.take("["):
        tensor.external_data = [
            read(lexer, StringStringEntryProto)
            for _ in lexer.iterate_items("]", "after a pair of external data")
        ]
        tensor.data_location = TensorProtoDataLocation.EXTERNAL
    else:
        raise lexer.expected_error(DATA_NOTATION)
    read_extras(lexer, tensor)


def read_raw(lexer: Lexer, dtype: DataType, dims: list[int]) -> Payload:
    """The value of `raw_data`: bytes, or elements in braces."""
    if not lexer.take("{"):
        return read_bytes(lexer, 'the elements in `{…}` or the bytes, as `base64 "…"`, after `raw_data`')
    begin = lexer.start
    integer = not (dtype.is_float or dtype.is_complex)
    literals = lexer.read_number_literals(
        "}", integer, f"{'an integer' if integer else 'a number'} as element of the tensor"
    )
    return lexer.convert_numbers(begin, lambda: raw_data(literals, dtype, dims))


def read_entries(lexer: Lexer, tensor: TensorProto) -> None:
    """The entries of the typed field, as the field stores them."""
    dtype = DATA_TYPES[tensor.data_type]
    if dtype is DataType.STRING:
        strings = [
            read_bytes(lexer, "a string in quotes")
            for _ in lexer.iterate_items("}", "after an element of the tensor")
        ]
        if strings:
            tensor.string_data = list(strings)
    elif dtype is DataType.UNDEFINED:
        lexer.expect("}", "immediately, as an undefined tensor has no entries")
    else:
        field = TensorProto.BY_NAME[dtypes.field_of(dtype)]
        values = lexer.read_numbers(field.kind, "}", element_text(dtype, field.kind), field.packed)
        if isinstance(values, np.ndarray) or values:
            setattr(tensor, field.name, values)


def element_text(dtype: DataType, kind: str) -> str:
    """The description of an entry of a typed field, for messages.  kind: the kind of the field."""
    if kind in ("float", "double"):
        return "a number as element of the tensor"
    if not dtype.is_float:
        return "an integer as element of the tensor"
    return (
        f"an integer as element of the tensor, the bit pattern of a {dtype.text}; numbers are written with "
        "`raw_data:`, as in `w = raw_data: {1.5, 2.0}`"
    )
