"""Digests of the bits of values: SHA-256, the same on every machine.

A number is 8 bytes, little-endian; a text is the number of its bytes and its UTF-8.  A value is encoded as a text that names
its kind, and what follows from the kind:

    tensor    element type, rank, dims, elements in C order
    sparse    element type, rank, dims, the number of stored elements, their positions in C order, ascending, and the elements
    sequence  the number of elements, the encoding of each
    map       the number of entries, key and encoded value of each, in the order of the keys; an integer key is the text `int`
              and its 8 bytes in two's complement, any other the text `string` and the key
    none      nothing: an optional without a value

Elements are those of `raw_data` in onnx.proto; elements of strings are texts.  Every NaN is the one in `NANS`: IEEE 754 leaves
sign and payload of a computed NaN to the machine, and x86-64 and AArch64 differ.  Zeros keep their signs.

The digest of named values is that of the text `values`, their number, and the name and the SHA-256 of each, in the order of the
names' UTF-8.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import numpy as np

from sardonyx._src.arguments import require_mapping, type_name
from sardonyx._src.dtypes import DataType, pack, string_data
from sardonyx._src.ir import Array, SparseTensor
from sardonyx._src.ops.run_values import RunResult

# Elements that are copied at a time: a multiple of 8, so that chunks of narrow elements are whole bytes.
CHUNK_ELEMENTS = 1 << 18
NANS = {  # the encoding of every NaN: quiet, positive if the type has a sign, without payload
    DataType.FLOAT: 0x7FC00000,
    DataType.DOUBLE: 0x7FF8000000000000,
    DataType.FLOAT16: 0x7E00,
    DataType.BFLOAT16: 0x7FC0,
    DataType.FLOAT8E4M3FN: 0x7F,
    DataType.FLOAT8E4M3FNUZ: 0x80,
    DataType.FLOAT8E5M2: 0x7F,
    DataType.FLOAT8E5M2FNUZ: 0x80,
    DataType.FLOAT8E8M0: 0xFF,
}
PARTS = {DataType.COMPLEX64: DataType.FLOAT, DataType.COMPLEX128: DataType.DOUBLE}


def digest_values(values: Mapping[str, RunResult]) -> str:
    """The SHA-256 of the bits of named values, such as the outputs of a run, as 64 hexadecimal digits.

    It depends neither on the order of the names, nor on the machine; `runtime.identity.value_digest` defines the encoding.
    Raises TypeError for values that are no results of a run: arrays, lists, dicts, None, sparse tensors.
    """
    require_mapping("values", values, str, object, "names to values")
    try:
        return combine_digests({name: digest_value(value) for name, value in values.items()})
    except (UnicodeEncodeError, OverflowError, RecursionError) as error:
        what = "texts must be Unicode, keys int64, and lists must not hold themselves"
        raise TypeError(f"values must be results of a run: {what}; got {type(error).__name__}") from error


def combine_digests(digests: Mapping[str, str]) -> str:
    """The digest of named values from the digest of each."""
    total = hashlib.sha256(encode_text("values") + encode_number(len(digests)))
    for name in sorted(digests, key=utf8):
        total.update(encode_text(name) + bytes.fromhex(digests[name]))
    return total.hexdigest()


def digest_value(value: RunResult) -> str:
    """The SHA-256 of the encoding of a value."""
    digest = hashlib.sha256()
    for part in encode_value(value):
        digest.update(part)
    return digest.hexdigest()


def encode_value(value: RunResult) -> Iterator[bytes | memoryview]:
    """The encoding of a value, in parts."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        yield encode_type("tensor", DataType.of(array.dtype), array.shape)
        yield from encode_elements(array)
    elif isinstance(value, SparseTensor):
        positions = value.linear_indices()
        order = np.argsort(positions)
        yield encode_type("sparse", value.dtype, value.shape) + encode_number(len(positions))
        yield from encode_elements(positions[order].astype(np.int64))
        yield from encode_elements(value.values.numpy().reshape(-1)[order])
    elif isinstance(value, list | tuple):
        yield encode_text("sequence") + encode_number(len(value))
        for item in value:
            yield from encode_value(item)
    elif isinstance(value, dict):
        yield encode_text("map") + encode_number(len(value))
        for key in sorted(value, key=lambda key: utf8(key) if isinstance(key, str) else key):
            yield encode_key(key)
            yield from encode_value(value[key])
    elif value is None:
        yield encode_text("none")
    else:
        raise TypeError(f"values must be results of a run; got {type_name(value)}")


def encode_type(kind: str, dtype: DataType, shape: tuple[int, ...]) -> bytes:
    dims = b"".join(map(encode_number, shape))
    return encode_text(kind) + encode_text(dtype.text) + encode_number(len(shape)) + dims


def encode_key(key: object) -> bytes:
    """The encoding of a key of a map."""
    if isinstance(key, str):
        return encode_text("string") + encode_text(key)
    if isinstance(key, int | np.integer):
        return encode_text("int") + int(key).to_bytes(8, "little", signed=True)
    raise TypeError(f"keys of maps must be integers or strings; got {type_name(key)}")


def encode_elements(array: Array) -> Iterator[bytes | memoryview]:
    """The elements of an array in C order, in parts."""
    dtype = DataType.of(array.dtype)
    if dtype is DataType.STRING:
        for text in string_data(array):
            yield encode_number(len(text)) + text
        return
    flat, part = np.ascontiguousarray(array).reshape(-1), PARTS.get(dtype, dtype)
    flat = flat.astype(dtype.numpy, copy=False).view(part.numpy)
    for start in range(0, flat.size, CHUNK_ELEMENTS):
        chunk = flat[start : start + CHUNK_ELEMENTS]
        yield pack(replace_nans(chunk, part) if part in NANS else chunk, part)


def replace_nans(array: Array, dtype: DataType) -> Array:
    """The array with `NANS[dtype]` for every NaN; the array itself if it has none."""
    with np.errstate(invalid="ignore"):  # signaling NaNs
        is_nan = np.isnan(array)
    if not is_nan.any():
        return array
    bits = array.view(f"u{array.itemsize}").copy()
    bits[is_nan] = NANS[dtype]
    return bits.view(array.dtype)


def encode_number(number: int) -> bytes:
    return number.to_bytes(8, "little")


def encode_text(text: str) -> bytes:
    return encode_number(len(content := utf8(text))) + content


def utf8(text: str) -> bytes:
    """The bytes of a text; those that are not UTF-8 are in it as surrogate escapes."""
    return text.encode("utf-8", "surrogateescape")
