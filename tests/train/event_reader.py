"""A reader of TensorBoard event files: TFRecord framing and protobuf decoding, written independently of the writer.

The checksum is computed bit by bit by long division of polynomials, as RFC 3720 defines it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path


def crc32c(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            feedback = (register ^ (byte >> bit)) & 1
            register >>= 1
            if feedback:
                register ^= 0x82F63B78
    return register ^ 0xFFFFFFFF


def unmask(masked: int) -> int:
    rotated = (masked - 0xA282EAD8) % 2**32
    return (rotated >> 17) | (rotated << 15) % 2**32


def records(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    while data:
        (length, length_crc) = struct.unpack("<QI", data[:12])
        assert unmask(length_crc) == crc32c(data[:8])
        content = data[12 : 12 + length]
        assert unmask(struct.unpack("<I", data[12 + length : 16 + length])[0]) == crc32c(content)
        yield content
        data = data[16 + length :]


def fields(message: bytes) -> dict[int, list[int | float | bytes]]:
    """The fields of a message by number."""
    result: dict[int, list[int | float | bytes]] = {}
    place = 0

    def varint() -> int:
        nonlocal place
        number = shift = 0
        while True:
            byte = message[place]
            place += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    while place < len(message):
        number, kind = divmod(varint(), 8)
        value: int | float | bytes
        if kind == 0:
            value = varint()
        elif kind == 1:
            value = float(struct.unpack("<d", message[place : place + 8])[0])
            place += 8
        elif kind == 5:
            value = float(struct.unpack("<f", message[place : place + 4])[0])
            place += 4
        else:
            assert kind == 2, kind
            size = varint()
            value = message[place : place + size]
            place += size
        result.setdefault(number, []).append(value)
    return result


def read_scalars(path: Path) -> list[tuple[int, dict[str, float]]]:
    """The step and the scalars of every event with a summary; the first event has the version of the format."""
    first, *rest = records(path)
    assert fields(first)[3] == [b"brain.Event:2"]
    assert isinstance(fields(first)[1][0], float)
    result = []
    for content in rest:
        event = fields(content)
        scalars = {}
        (summary,) = event[5]
        assert isinstance(summary, bytes)
        for value in fields(summary)[1]:
            assert isinstance(value, bytes)
            parts = fields(value)
            (tag,), (number,) = parts[1], parts[2]
            assert isinstance(tag, bytes) and isinstance(number, float)
            scalars[tag.decode()] = number
        (step,) = event.get(2, [0])
        assert isinstance(step, int)
        result.append((step, scalars))
    return result
