"""Arrow, which reads and writes the tables; an optional dependency."""

from __future__ import annotations

from sardonyx._src.errors import MissingPackage

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv, dataset, fs, ipc, json, parquet
except ImportError:
    raise MissingPackage("tables require pyarrow: pip install 'sardonyx[score]'", package="pyarrow") from None

__all__ = ["csv", "dataset", "fs", "ipc", "json", "pa", "parquet", "pc"]
