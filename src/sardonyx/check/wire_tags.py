"""Unknown fields, as records keep them: each with its tag."""

from __future__ import annotations

from sardonyx.proto.record import Payload


def tag_of(field: Payload) -> tuple[int, int]:
    """Number and wire type of a field that begins with its tag."""
    tag = shift = 0
    for byte in bytes(field[:10]):
        tag |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return tag >> 3, tag & 7
