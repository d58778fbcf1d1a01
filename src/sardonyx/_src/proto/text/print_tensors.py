"""Printers of tensors: typed fields and short raw data as numbers, long raw data as base64."""

from __future__ import annotations

from typing import cast

from sardonyx._src import dtypes
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto, TensorProtoDataLocation
from sardonyx._src.proto.record import Numbers, Payload
from sardonyx._src.proto.text.elements import raw_data, raw_literals
from sardonyx._src.proto.text.print_records import (
    Style,
    format_extras,
    format_list,
    format_numbers,
    format_strings,
    register_writer,
    repeated_values,
    write,
)
from sardonyx._src.proto.text.words import DATA_TYPES, base64_literal, quote_word

MAX_INLINE_ELEMENTS = 64  # longer raw data is printed as base64


@register_writer(TensorProto)
def write_tensor(tensor: TensorProto, style: Style) -> str | None:
    """A constant: `float[2] name {1.0, 2.0}`; None if the element type has no name."""
    return write_with_data(tensor, style, "")


def write_initializer(tensor: TensorProto, style: Style) -> str | None:
    """An initializer of a graph: `float[2] name = {1.0, 2.0}`; None if the element type has no name."""
    return write_with_data(tensor, style, "= ")


def write_with_data(tensor: TensorProto, style: Style, sign: str) -> str | None:
    dtype = DATA_TYPES.get(tensor.data_type) if tensor.has("data_type") else None
    if dtype is None:
        return None
    name = f" {quote_word(tensor.name)}" if tensor.has("name") else ""
    field, data = format_data(tensor, dtype, style)
    printed_fields = ["data_type", "dims", "name", field]
    if field == "external_data":
        printed_fields.append("data_location")
        sign = "= "  # required before external data, in constants too
    return f"{tensor_type(tensor, dtype)}{name} {sign}{data}{format_extras(tensor, printed_fields, style)}"


def tensor_type(tensor: TensorProto, dtype: DataType) -> str:
    dims = repeated_values(tensor, "dims", int)
    return f"{dtype.text}[{', '.join(map(str, dims))}]" if dims else dtype.text


def format_data(tensor: TensorProto, dtype: DataType, style: Style) -> tuple[str, str]:
    """The field with the data and its text; if several fields are set, the typed field, then raw data."""
    typed_field = "" if dtype is DataType.UNDEFINED else dtypes.field_of(dtype)
    present = {field.name: value for field, value in tensor.present()}
    if typed_field == "string_data" and typed_field in present:
        return typed_field, "{" + format_strings(tensor.string_data, style) + "}"
    if typed_field in present:
        values = cast("Numbers[int]", present[typed_field])
        return typed_field, "{" + format_numbers(values, TensorProto.BY_NAME[typed_field].kind, style) + "}"
    if "raw_data" in present:
        raw = write_raw(tensor.raw_data, dtype, repeated_values(tensor, "dims", int), style)
        return "raw_data", f"raw_data: {raw}"
    if "external_data" in present and tensor.data_location == TensorProtoDataLocation.EXTERNAL:
        deeper = style.deeper()
        pairs = [write(pair, deeper) for pair in tensor.external_data]
        return "external_data", format_list("[", pairs, "]", style)
    return typed_field, "{}"


def write_raw(data: Payload, dtype: DataType, dims: list[int], style: Style) -> str:
    """The elements, if they are few and parse back to the same bytes; else base64."""
    max_elements = MAX_INLINE_ELEMENTS if style.max_elements is None else style.max_elements
    literals = raw_literals(data, dtype, dims, max_elements)
    count = dtypes.element_count(dims) if literals is not None else memoryview(data).nbytes
    if count > max_elements and style.max_elements is not None:
        return "{" + ", ".join([*(literals or []), "..."]) + "}"
    if literals is None or count > max_elements or raw_data(literals, dtype, dims) != data:
        return base64_literal(data)
    return "{" + ", ".join(literals) + "}"
