"""Entry point of the printer: a record to text in ONNX textual syntax."""

from __future__ import annotations

from sardonyx._src.errors import LimitError
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.text import print_graphs  # noqa: F401  # registers the writers
from sardonyx._src.proto.text.print_records import Style, write


def to_text(record: Record, *, max_elements: int | None = None) -> str:
    """The record in ONNX textual syntax with the extensions of this package; `from_text` restores the record.

    With `max_elements`, longer lists of numbers and strings are truncated with `...`: a text for human readers,
    which `from_text` rejects.  Raises LimitError for records nested deeper than Python's stack allows.
    """
    try:
        return write(record, Style(max_elements))
    except RecursionError:
        what = "messages are nested deeper than Python's stack allows"
        raise LimitError(what, limit="sys.setrecursionlimit") from None
