"""Reading text files of models and operator sets."""

from __future__ import annotations

from pathlib import Path

from sardonyx._src.errors import DecodeError


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, without a byte-order mark.

    Raises DecodeError, with the offset, for a file in another encoding.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        why = f"a {path.suffix} file must be UTF-8 text; got other bytes"
        raise DecodeError(why, offset=error.start, source=str(path)) from None
