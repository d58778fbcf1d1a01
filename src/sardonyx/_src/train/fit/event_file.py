"""TensorBoard event files: TFRecords of Event messages (tensorflow/core/util/event.proto, framework/summary.proto)."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping

from sardonyx._src.train.fit.crc32c import masked_crc32c
from sardonyx._src.train.losses.base import MAX_FLOAT32

FILE_VERSION = "brain.Event:2"
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5  # wire types of protobuf
EVENT_TIME, EVENT_STEP, EVENT_VERSION, EVENT_SUMMARY = 1, 2, 3, 5
SUMMARY_VALUE, VALUE_TAG, VALUE_NUMBER = 1, 1, 2


def varint(number: int) -> bytes:
    result = bytearray()
    while number > 0x7F:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    result.append(number)
    return bytes(result)


def key(field: int, wire_type: int) -> bytes:
    return varint(field << 3 | wire_type)


def delimited(field: int, content: bytes) -> bytes:
    return key(field, LENGTH) + varint(len(content)) + content


def scalar_value(tag: str, number: float) -> bytes:
    """A Summary.Value with a tag and a simple_value."""
    held = number if abs(number) <= MAX_FLOAT32 or math.isnan(number) else math.copysign(math.inf, number)
    content = delimited(VALUE_TAG, tag.encode()) + key(VALUE_NUMBER, FIXED32) + struct.pack("<f", held)
    return delimited(SUMMARY_VALUE, content)


def record(content: bytes) -> bytes:
    """A TFRecord: length, its checksum, content, its checksum."""
    length = struct.pack("<Q", len(content))
    return (
        length
        + struct.pack("<I", masked_crc32c(length))
        + content
        + struct.pack("<I", masked_crc32c(content))
    )


def version_record(time: float) -> bytes:
    """The first record of a file; time: seconds since 1970."""
    return record(
        key(EVENT_TIME, FIXED64) + struct.pack("<d", time) + delimited(EVENT_VERSION, FILE_VERSION.encode())
    )


def scalars_record(time: float, step: int, scalars: Mapping[str, float]) -> bytes:
    """A record with the numbers of a step, by tag; time: seconds since 1970."""
    summary = b"".join(scalar_value(tag, number) for tag, number in scalars.items())
    head = key(EVENT_TIME, FIXED64) + struct.pack("<d", time) + key(EVENT_STEP, VARINT) + varint(step)
    return record(head + delimited(EVENT_SUMMARY, summary))
