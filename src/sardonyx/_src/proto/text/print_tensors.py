"""Writes tensors: typed fields and short raw data as numbers, long raw data as base64."""

from __future__ import annotations

from typing import cast

from sardonyx._src import dtypes
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto, TensorProtoDataLocation
from sardonyx._src.proto.record import Numbers, Payload
from sardonyx._src.proto.text.elements import raw_data, raw_texts
from sardonyx._src.proto.text.print_records import (
    Style,
    extras,
    listed,
    listing,
    write,
    writes,
    written_numbers,
    written_strings,
)
from sardonyx._src.proto.text.words import DATA_TYPES, base64_literal, quotable

SHORT = 64  # elements; raw data of more is written as base64


@writes(TensorProto)
def write_tensor(tensor: TensorProto, style: Style) -> str | None:
    """As a constant: `float[2] name {1.0, 2.0}`; None where the element type has no name."""
    return write_with_data(tensor, style, "")


def write_initializer(tensor: TensorProto, style: Style) -> str | None:
    """As in the list of a graph, with a `=`."""
    return write_with_data(tensor, style, "= ")


def write_with_data(tensor: TensorProto, style: Style, sign: str) -> str | None:
    dtype = DATA_TYPES.get(tensor.data_type) if tensor.has("data_type") else None
    if dtype is None:
        return None
    name = f" {quotable(tensor.name)}" if tensor.has("name") else ""
    field, data = written_data(tensor, dtype, style)
    said = ["data_type", "dims", "name", field]
    if field == "external_data":
        said.append("data_location")
        sign = "= "  # wanted before the list in constants, too
    return f"{tensor_type(tensor, dtype)}{name} {sign}{data}{extras(tensor, said, style)}"


def tensor_type(tensor: TensorProto, dtype: DataType) -> str:
    dims = listed(tensor, "dims", int)
    return f"{dtype.text}[{', '.join(map(str, dims))}]" if dims else dtype.text


def written_data(tensor: TensorProto, dtype: DataType, style: Style) -> tuple[str, str]:
    """The field that holds the data, and its text; where several do, the typed field, else raw data."""
    own = "" if dtype is DataType.UNDEFINED else dtypes.field_of(dtype)
    present = {field.name: value for field, value in tensor.present()}
    if own == "string_data" and own in present:
        return own, "{" + written_strings(tensor.string_data, style) + "}"
    if own in present:
        values = cast("Numbers[int]", present[own])
        return own, "{" + written_numbers(values, TensorProto.BY_NAME[own].kind, style) + "}"
    if "raw_data" in present:
        raw = write_raw(tensor.raw_data, dtype, listed(tensor, "dims", int), style)
        return "raw_data", f"raw_data: {raw}"
    if "external_data" in present and tensor.data_location == TensorProtoDataLocation.EXTERNAL:
        deeper = style.deeper()
        pairs = [write(pair, deeper) for pair in tensor.external_data]
        return "external_data", listing("[", pairs, "]", style)
    return own, "{}"


def write_raw(data: Payload, dtype: DataType, dims: list[int], style: Style) -> str:
    """The elements, if they are few and reading them gives the same bytes; else base64."""
    most = SHORT if style.max_elements is None else style.max_elements
    texts = raw_texts(data, dtype, dims, most)
    count = dtypes.element_count(dims) if texts is not None else memoryview(data).nbytes
    if count > most and style.max_elements is not None:
        return "{" + ", ".join([*(texts or []), "..."]) + "}"
    if texts is None or count > most or raw_data(texts, dtype, dims) != data:
        return base64_literal(data)
    return "{" + ", ".join(texts) + "}"
