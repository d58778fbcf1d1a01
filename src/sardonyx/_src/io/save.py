"""Writing models: to one file, or with their data in files beside it."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias, get_args

from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io import to_proto
from sardonyx._src.io.external import ExternalStorage, components
from sardonyx._src.io.layout import DataFile, Layout, packed
from sardonyx._src.io.staging import Staged, Staging, Writer, write_all
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.proto import binary
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import Payload, Record

Format: TypeAlias = Literal["binary", "text", "json"]
SUFFIXES: dict[str, Format] = {".onnxtxt": "text", ".txt": "text", ".json": "json"}  # as `load` reads them
PROTOBUF_TEXT = (".textproto", ".prototxt", ".pbtxt")
BLOCK = 1 << 16  # bytes; shorter pieces are joined before they are written


def save(
    model: Model | ModelProto,
    target: str | os.PathLike[str] | Writer,
    *,
    external: str | bool | None = None,
    shard_size: int | None = None,
    threshold: int = 1024,
    align: int = 4096,
    format: Format | None = None,
    checksum: bool = False,
) -> None:
    """Writes a model to a file, its data in it or in files beside it; or to a binary file object, all in one.

    `external`: None keeps external what is (in `NAME.data`, NAME being the target's name) and the rest inline; False
    puts all into the model; a name, or True for `NAME.data`, puts every tensor of at least `threshold` bytes into
    that file and the rest into the model.  The name is a location as a model may state it, below the target's
    directory; directories are made.  Strings and tensors without elements are always inline.
    `shard_size`: a data file takes no tensor that would make it longer than that many bytes, but a tensor has one
    file; several files are named like `NAME-00001-of-00003.data`.
    `align`: tensors of at least that many bytes start at a multiple of it, shorter ones at a multiple of 64; 1 leaves
    no gaps.  Windows maps at multiples of 65536, other systems at 4096 or 16384.
    `format`: by default .onnxtxt and .txt are text, .json is JSON, all else binary.
    `checksum`: whether external tensors state the SHA-1 of their file.

    A record is written as it stands: the options about data must be left alone, and data files are not touched.

    Files take their places when all are complete on the disk, data before the model; until then a failure leaves the
    old ones as they were.  So a model can be saved over the files from which it is mapped (but Windows replaces no
    open file).  A symbolic link in a file's place is replaced itself, never written through.  Modes are what the
    umask leaves.  Old data files under other names stay.  Keys of `external_data` that ONNX does not define are left
    out, since they may speak of places in the old file.

    Raises ExternalDataError for a name that no model may state and for data that cannot be read, OSError for what the
    system refuses, ValueError for options that contradict each other.
    """
    if not isinstance(model, Model | ModelProto):
        raise TypeError(f"a Model or a ModelProto record can be saved, not {type(model).__name__}")
    if align < 1 or threshold < 0 or (shard_size is not None and shard_size < 1):
        raise ValueError(
            f"align {align} and shard_size {shard_size} must be positive, threshold {threshold} not negative"
        )
    has_data_options = external not in (None, False) or shard_size is not None or checksum
    if not isinstance(model, Model) and (has_data_options or external is False):
        raise ValueError("a record is written as it stands; make a Model of it to move its data")
    if external is False and has_data_options:
        raise ValueError("external=False writes no data file that shard_size or checksum could be about")
    if isinstance(target, str | os.PathLike):
        rule = external_rule(external, threshold)
        path = os.fspath(target)
        location = external if isinstance(external, str) else f"{os.path.basename(path)}.data"
        if isinstance(external, str):
            data_names(location, os.path.basename(path))
        layout = Layout(location, rule, align=align, shard_size=shard_size)
        save_to_path(model, path, layout, format_of(path, format), checksum=checksum)
    elif has_data_options:
        raise ValueError(
            "a file object takes no data files; save to a path, or leave external, shard_size and checksum"
        )
    else:
        record = to_proto.model(model) if isinstance(model, Model) else model
        write_blocks(target, encoded(record, format_of("", format)))


def save_to_path(
    model: Model | ModelProto, path: str, layout: Layout, form: Format, *, checksum: bool
) -> None:
    folder, name = os.path.split(path)
    if not name:
        raise IsADirectoryError(errno.EISDIR, "a directory, where the name of a file is wanted", path)
    with Staging(folder or os.curdir) as staging:
        record = model
        if isinstance(model, Model):
            record = to_proto.model(model, layout.place)
            write_data(staging, layout, name, checksum=checksum)
            if len(layout.files) > 1 or checksum:  # final names and checksums were not known before
                record = to_proto.model(model, layout.place)
        assert isinstance(record, ModelProto), "to_proto makes records"
        with staging.create([name]) as file:
            write_blocks(file, encoded(record, form))
        staging.commit()


def external_rule(external: str | bool | None, threshold: int) -> Callable[[Tensor], bool]:
    """Which tensors leave the model."""
    if external is None:
        return lambda tensor: isinstance(tensor.storage, ExternalStorage)
    if external is False:
        return lambda tensor: False
    return lambda tensor: tensor.nbytes >= threshold


def format_of(path: str, format: Format | None) -> Format:
    """The format asked for, or the one that the suffix stands for."""
    if format is not None:
        if format not in get_args(Format):
            raise ValueError(f"format is {format!r}, which should be one of {', '.join(get_args(Format))}")
        return format
    suffix = os.path.splitext(path)[1]
    if suffix in PROTOBUF_TEXT:
        what = f"{suffix} stands for protobuf's text format, which is not written"
        raise ValueError(f"{what}; use .onnxtxt, .json or .onnx, or state the format")
    return SUFFIXES.get(suffix, "binary")


def data_names(location: str, model_name: str) -> tuple[str, ...]:
    """The components of a data file's location, checked as a reader would check them."""
    names = components(location, "external")
    if names[0].casefold() == model_name.casefold():  # some file systems ignore case
        what = f"the data file {location!r} would take the place of the model {model_name!r}"
        raise ExternalDataError(f"{what}; choose another name", location="external")
    return names


def write_data(staging: Staging, layout: Layout, model_name: str, *, checksum: bool) -> None:
    for file, location in zip(layout.files, layout.names(), strict=True):
        with staging.create(data_names(location, model_name)) as staged:
            write_pieces(staged, file, checksum=checksum)


def write_pieces(staged: Staged, file: DataFile, *, checksum: bool) -> None:
    """Writes the tensors of a data file at their offsets, and hashes the file on the way if `checksum` says so."""
    digest = hashlib.sha1(usedforsecurity=False)
    end = 0
    for offset, tensor in file.pieces:
        data = memoryview(packed(tensor)).cast("B")
        assert len(data) == tensor.nbytes, (
            f"{tensor!r} packs into {len(data)} bytes, planned were {tensor.nbytes}"
        )
        staged.skip_to(offset)
        staged.write(data)
        if checksum:
            digest.update(bytes(offset - end))
            digest.update(data)
        end = offset + len(data)
    if checksum:
        file.checksum = digest.hexdigest()


def encoded(record: Record, form: Format) -> Iterator[Payload]:
    """A record of any kind in a format, in pieces."""
    if form == "binary":
        return binary.chunks(record)
    # Imported here because these codecs are slow to load, and few programs use them.
    if form == "json":
        from sardonyx._src.proto.json import to_json

        return iter((to_json(record).encode(),))
    from sardonyx._src.proto.text import to_text

    return iter((to_text(record).encode(),))


def write_blocks(file: Writer, pieces: Iterable[Payload]) -> None:
    """Writes the pieces, short ones joined, long ones as they are."""
    short: list[Payload] = []
    size = 0
    for piece in pieces:
        if len(piece) < BLOCK:
            short.append(piece)
            size += len(piece)
        if size >= BLOCK or len(piece) >= BLOCK:
            write_all(file, b"".join(short))
            short, size = [], 0
        if len(piece) >= BLOCK:
            write_all(file, piece)
    write_all(file, b"".join(short))
