"""Calibration data from the command line: inputs as for `sardonyx run`, and files and folders of many rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sardonyx._src.cli.inputs.feeds import read_feeds
from sardonyx._src.runtime.session.session import SessionValue
from sardonyx._src.tables.columns import reader_of


def read_calibration(
    words: Sequence[str], ports: Sequence[SessionValue]
) -> list[dict[str, object] | str] | None:
    """The feeds of each word, or its path, if it names columns of rows; None without words."""
    return [word if has_columns(Path(word)) else read_feeds([word], ports) for word in words] or None


def has_columns(path: Path) -> bool:
    """Whether a path is an archive, a table, or a folder but for one of serialized inputs."""
    if path.is_dir():
        return not (path / "input_0.pb").exists()
    return reader_of(path) is not None and ("=" not in path.name or path.exists())
