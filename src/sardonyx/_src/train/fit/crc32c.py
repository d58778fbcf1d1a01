"""CRC-32C (RFC 3720, appendix B.4) with the mask of TFRecord files."""

from __future__ import annotations

POLYNOMIAL = 0x82F63B78  # Castagnoli's polynomial, with reflected bits
MASK_DELTA = 0xA282EAD8


def make_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


TABLE = make_table()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """The checksum rotated right by 15 bits, plus a constant, as TFRecord requires.

    The mask avoids checksums of data that contain their own checksums.
    """
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + MASK_DELTA) & 0xFFFFFFFF
