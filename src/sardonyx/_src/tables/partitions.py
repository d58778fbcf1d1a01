"""Hive partitions: rows are in folders that are named after the values of columns, as `country=fr/day=2026-11-23`.

The names are those that pyarrow.dataset writes and reads with partitioning="hive": values are percent-encoded, and nulls have a
reserved name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.suggestions import suggest
from sardonyx._src.tables.arrow import pa, pc
from sardonyx._src.tables.encodings import is_text

OPTION = "partition_by (--partition-by)"
NULL_NAME = "__HIVE_DEFAULT_PARTITION__"  # stands for null in the name of a folder
MAX_COMBINATIONS = 1024  # combinations of values in a part; each of them is a file
CASE = re.compile(r"(%..)|[A-Z]|\.$")  # an encoded character, a capital, or a dot at the end
MAX_NAME_BYTES = 255  # bytes of the name of a folder, on the common file systems


def check_result(names: Sequence[str], schema: pa.Schema) -> None:
    """Raises InputError for columns of a result that cannot be partitions."""
    for name in names:
        if name not in schema.names:
            raise missing_column(name, schema.names)
        check_type(name, schema.field(name).type)
    check_rest(names, schema.names)


def check_name(name: str) -> None:
    """Raises InputError for a column name from which readers could not recognize the folders as partitions."""
    if not name or name.startswith((".", "_")) or any(c in "/\\=%" or ord(c) < 32 for c in name):
        raise InputError(
            f"{OPTION} must be columns whose names begin with neither '.' nor '_' and have no '/', '\\', '=' or '%'; got {name!r}: "
            "rename the column",
            name=name,
        )


def check_type(name: str, kind: pa.DataType) -> None:
    """Raises InputError for a type whose values the name of a folder cannot represent exactly."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (is_text, pa.types.is_integer, pa.types.is_boolean, pa.types.is_date)
    if not any(test(kind) for test in tests):
        raise refusal(name, str(kind))


def check_rest(names: Sequence[str], columns: Sequence[str]) -> None:
    if set(columns) <= set(names):
        raise InputError(
            f"{OPTION} must leave a column for the files; got all of them: {', '.join(names)}",
            name=OPTION,
        )


def refusal(name: str, kind: str) -> InputError:
    return InputError(
        f"{OPTION} must be columns of strings, integers, truth values or dates; got {name!r} of type {kind}: convert it in the "
        "source",
        name=name,
    )


def missing_column(name: str, columns: Sequence[str]) -> InputError:
    return InputError(
        f"{OPTION} must be columns of the result; got {name!r}{suggest(name, columns, 'columns')}; columns of the source are in it "
        "with keep (--keep)",
        name=name,
    )


def split_rows(
    table: pa.Table, names: Sequence[str], *, ignores_case: bool
) -> Iterator[tuple[str, pa.Table]]:
    """The folder and the rows of every combination of values, without the columns that name the folder; rows keep their order.

    ignores_case: whether the file system ignores case in names.  Raises InputError for too many combinations, and for values
    that cannot name a folder.
    """
    columns = [value_texts(table.column(name)).dictionary_encode("encode") for name in names]
    codes = np.zeros(table.num_rows, np.int64)
    for column in columns:
        codes = codes * len(column.dictionary) + column.indices.to_numpy()
        codes = np.unique(codes, return_inverse=True)[1]
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    if len(first) > MAX_COMBINATIONS:
        raise InputError(
            f"{OPTION} must have at most {MAX_COMBINATIONS:,} combinations of values in a part; got {len(first):,} in "
            f"{table.num_rows:,} rows: partition by fewer columns, or by ones with fewer values",
            name=OPTION,
        )
    folders = [
        "/".join(
            folder_name(name, column[int(row)].as_py(), ignores_case=ignores_case)
            for name, column in zip(names, columns, strict=True)
        )
        for row in first
    ]
    order = np.argsort(codes, kind="stable")
    rows = table.drop_columns(list(names)).unify_dictionaries().take(pa.array(order)).combine_chunks()
    starts = np.cumsum(counts) - counts
    for folder, start, count in zip(folders, starts, counts, strict=True):
        yield folder, rows.slice(int(start), int(count))


def value_texts(column: pa.ChunkedArray) -> pa.Array:
    """The values as text for names of folders: decimal numbers, true and false, and dates of ISO 8601."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_date64(column.type):
        column = pc.cast(column, pa.date32())
    return pa.concat_arrays(pc.cast(column, pa.large_string()).chunks)


def folder_name(name: str, value: str | None, *, ignores_case: bool) -> str:
    """`name=value`; raises InputError for a value that is the name for null, and for one that is too long.

    With `ignores_case`, capitals are encoded, too, and so is a dot at the end, which Windows drops: no two values share a folder.
    """
    if value is not None and value.upper() == NULL_NAME:
        raise InputError(
            f"column {name!r} of {OPTION} must not have the string {value!r}, which stands for null",
            name=name,
        )
    text = NULL_NAME if value is None else quote(value, safe="")
    if ignores_case and value is not None:
        text = CASE.sub(lambda match: match[1] or f"%{ord(match[0]):02X}", text)
    folder = f"{name}={text}"
    if len(folder.encode()) > MAX_NAME_BYTES:
        raise InputError(
            f"column {name!r} of {OPTION} must have values that name folders of at most {MAX_NAME_BYTES} bytes; got {value!r}",
            name=name,
        )
    return folder


def is_partition_folder(folders: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the folders of a path are partitions by these columns, in this order."""
    return len(folders) == len(names) and all(
        folder.startswith(f"{name}=") for folder, name in zip(folders, names, strict=True)
    )
