"""Text files as models and operator sets come in."""

from __future__ import annotations

from pathlib import Path

from sardonyx._src.errors import DecodeError


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, without the mark that some editors put before it.

    Raises DecodeError, with the offset, for a file in another encoding.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        why = f"the file is not UTF-8 text, which {path.suffix} stands for"
        raise DecodeError(why, offset=error.start, source=str(path)) from None
