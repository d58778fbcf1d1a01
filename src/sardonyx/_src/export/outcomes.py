"""What a run of a library returns: 0, or the number of an error, each with a name and a text in the header."""

from __future__ import annotations

(
    OK,
    NULL_POINTER,
    MISALIGNED_POINTER,
    ARENA_TOO_SMALL,
    MISALIGNED_ARENA,
    MISALIGNED_WEIGHTS,
    INDEX_OUT_OF_RANGE,
    LIMIT_EXCEEDED,
) = range(8)
# The name in the header, without the prefix, and the text.
OUTCOMES = (
    ("OK", "success"),
    ("NULL_POINTER", "a pointer to an input or an output is null"),
    ("MISALIGNED_POINTER", "an input or an output is not aligned to its elements"),
    ("ARENA_TOO_SMALL", "the arena is null or has too few bytes"),
    ("MISALIGNED_ARENA", "the arena is not aligned to 64 bytes"),
    ("MISALIGNED_WEIGHTS", "the weights are null or not aligned to 64 bytes"),
    ("INDEX_OUT_OF_RANGE", "an element of an input is an index out of range"),
    ("LIMIT_EXCEEDED", "a loop exceeds the limit of iterations"),
)
UNKNOWN_TEXT = "unknown error"
TEXT_BYTES = 64  # of each text in the code, zeros included
