"""Reading text files of models and operator sets."""

from __future__ import annotations

from pathlib import Path

from sardonyx._src.errors import DecodeError
from sardonyx._src.io.loading.file_formats import recognize_format
from sardonyx._src.io.regular_files import read_regular


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, without a byte-order mark.

    Raises DecodeError, with the offset, for a file in another encoding.
    """
    data = read_regular(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if (text := recognize_format(data)) is not None:
            raise DecodeError(text, offset=0, source=str(path)) from None
        why = f"a {path.suffix} file must be UTF-8 text; got other bytes"
        raise DecodeError(why, offset=error.start, source=str(path)) from None
