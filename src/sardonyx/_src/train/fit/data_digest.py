"""Digests of training data, by which a run recognizes its data when it is continued."""

from __future__ import annotations

import hashlib

from sardonyx._src.ir import Array

MAX_BYTES = 1 << 30  # bytes read of an array: about a second; of a larger one a sample is read
CHUNK_BYTES = 1 << 20  # bytes read at a time, so that mapped files need no more memory
DIGEST_BYTES = 16


def digest_of_rows(values: Array) -> str:
    """BLAKE2b of the elements [n, ...], in hexadecimal digits.

    Of an array of more than 1 GiB, 1 GiB is read in chunks at equal distances, which include the first and the last row.
    """
    digest, count = hashlib.blake2b(digest_size=DIGEST_BYTES), len(values)
    row_bytes = max(1, values.nbytes // max(count, 1))
    rows = max(1, CHUNK_BYTES // row_bytes)  # rows of a chunk
    chunks = -(-count // rows)
    read = min(chunks, max(1, MAX_BYTES // (rows * row_bytes)))
    for i in range(read):
        first = i * (chunks - 1) // max(read - 1, 1) * rows
        digest.update(content_of(values[first : first + rows]))
    return digest.hexdigest()


def content_of(rows: Array) -> bytes:
    """The elements as bytes; strings are encoded, since an array of objects only holds their addresses."""
    return repr(rows.tolist()).encode() if rows.dtype.hasobject else rows.tobytes()
