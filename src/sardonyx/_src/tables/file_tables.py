"""Parquet and Arrow IPC files, folders of them with partitions, and object stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sardonyx._src.errors import InputError
from sardonyx._src.tables.arrow import dataset, pa
from sardonyx._src.tables.encodings import plain_schema
from sardonyx._src.tables.formats import PARQUET
from sardonyx._src.tables.sources import Identity, SourceBatch, number_batches, read_rows, readable

READAHEAD = 2  # batches that Arrow decodes before they are read


Reopen = Callable[[pa.Schema], "dataset.FileSystemDataset"]


class FileTable:
    """The rows of binary files, file by file in the order of their paths.

    partitions: the columns that names of folders hold.
    """

    def __init__(self, files: dataset.FileSystemDataset, format: str, reopen: Reopen | None = None) -> None:
        """reopen: the same files, with these types of partitions; None for files without partitions."""
        self.format, self.reopen = format, reopen
        self.use(files)
        names = {
            name: None
            for fragment in self.fragments
            for name in dataset.get_partition_keys(fragment.partition_expression)
        }
        self.partitions = pa.schema([files.schema.field(name) for name in names])

    def use(self, files: dataset.FileSystemDataset) -> None:
        """Read these files."""
        self.schema, self.is_parquet = plain_schema(files.schema), self.format == PARQUET
        self.fragments = sorted(files.get_fragments(), key=lambda fragment: str(fragment.path))
        self.counts = [int(fragment.count_rows()) for fragment in self.fragments]
        self.rows: int | None = sum(self.counts)
        self.identity = identity_of(files)
        self.scan_schema, self.filesystem = files.schema, files.filesystem

    def is_untyped(self, name: str) -> bool:
        """Whether the numbers and texts of a column are written alike: in names of folders."""
        return name in self.partitions.names

    def set_types(self, types: Mapping[str, pa.DataType]) -> None:
        """Read partitions as these types; columns of files have types of their own.

        Raises InputError for a value that is not of the type.
        """
        fields = [field.with_type(types.get(field.name, field.type)) for field in self.partitions]
        if self.reopen is None or fields == list(self.partitions):
            return
        try:
            self.use(self.reopen(pa.schema(fields)))
        except pa.ArrowInvalid as error:
            raise InputError(
                f"the columns that folders of the source name must hold {', '.join(map(str, fields))}: {error}",
                name="source",
            ) from None
        self.partitions = pa.schema(fields)

    def read_as_dictionaries(self, columns: Sequence[str]) -> None:
        """Read these columns of strings as dictionaries if the files store them so: equal strings are then not copied."""
        if not self.is_parquet or not columns:
            return
        texts = [name for name in columns if self.schema.field(name).type == pa.string()]
        format = dataset.ParquetFileFormat(dictionary_columns=texts)
        self.fragments = [
            format.make_fragment(fragment.path, self.filesystem, fragment.partition_expression)
            for fragment in self.fragments
        ]
        for name in texts:
            place = self.schema.get_field_index(name)
            field = self.schema.field(place).with_type(pa.dictionary(pa.int32(), pa.string()))
            self.scan_schema = self.scan_schema.set(place, field)

    def read(self, first: int, columns: Sequence[str], max_rows: int | None) -> Iterator[SourceBatch]:
        size = read_rows(self.bytes_per_row(columns), max_rows)
        skip = first
        for fragment, count in zip(self.fragments, self.counts, strict=True):
            if skip >= count:
                skip -= count
                continue
            selected = fragment
            if self.is_parquet:
                selected, skip = skip_row_groups(fragment, skip)
            batches = self.scan(selected, columns, size)
            for part in number_batches(batches, first, skip, size):
                yield part
                first = part.first + part.rows
            skip = 0

    def scan(self, fragment: dataset.Fragment, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """The batches of a file; values of partitions are columns."""
        options = None
        if self.is_parquet:  # otherwise a whole row group would be in memory, compressed and decompressed
            options = dataset.ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
        scanner = fragment.scanner(
            schema=self.scan_schema,
            columns=list(columns),
            batch_size=size,
            batch_readahead=READAHEAD,
            fragment_readahead=1,
            fragment_scan_options=options,
            memory_pool=scan_pool(),
        )
        return readable(iter(scanner.to_reader()), str(fragment.path))

    def bytes_per_row(self, columns: Sequence[str]) -> float:
        """The bytes of a row of these columns in the first Parquet file that has rows; unknown for other files."""
        for fragment in self.fragments if self.is_parquet else ():
            for group in fragment.row_groups:
                if group.num_rows:
                    metadata = fragment.metadata.row_group(group.id)
                    parts = (metadata.column(i) for i in range(metadata.num_columns))
                    total = sum(
                        c.total_uncompressed_size for c in parts if c.path_in_schema.split(".")[0] in columns
                    )
                    return float(total / group.num_rows)
        return 0.0


def scan_pool() -> pa.MemoryPool:
    """The pool for the memory of decoded batches: jemalloc returns freed memory to the system sooner than the default."""
    try:
        return pa.jemalloc_memory_pool()
    except NotImplementedError:  # this build of Arrow has no jemalloc
        return pa.default_memory_pool()


def skip_row_groups(fragment: dataset.ParquetFileFragment, skip: int) -> tuple[dataset.Fragment, int]:
    """The rest of a file after the row groups within its first `skip` rows, and the number of rows still to be skipped."""
    groups = list(fragment.row_groups)
    index = 0
    while index < len(groups) and skip >= groups[index].num_rows:
        skip -= groups[index].num_rows
        index += 1
    return (fragment.subset(row_group_ids=[g.id for g in groups[index:]]) if index else fragment), skip


def identity_of(files: dataset.FileSystemDataset) -> Identity:
    """The path, the size and the time of the last change of each file."""
    infos = files.filesystem.get_file_info(sorted(files.files))
    return [[info.path, info.size, info.mtime_ns or 0] for info in infos]
