"""Saving models to one file, or with external data files."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Literal, TypeAlias, get_args

from sardonyx._src.arguments import (
    require_choice,
    require_flag,
    require_integer,
    require_path,
    require_type,
    type_name,
)
from sardonyx._src.errors import ExternalDataError, InputError
from sardonyx._src.io.external import ExternalStorage, components, verify_checksums, verify_meanwhile
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.io.mapped_files import MappedFile, mapped_file_behind
from sardonyx._src.io.memory_release import iter_releasing
from sardonyx._src.io.saving.data_file_owners import refuse_foreign_files
from sardonyx._src.io.saving.file_writer import BinaryWriter, write_all
from sardonyx._src.io.saving.layout import DataFileLayout, ExternalDataLayout, pack_tensor
from sardonyx._src.io.saving.staging import StagedFile, Staging
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Model, Tensor
from sardonyx._src.ir.walk import model_tensors
from sardonyx._src.proto import binary
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import Payload, Record, without_unknown

Format: TypeAlias = Literal["binary", "text", "json"]
SUFFIXES: dict[str, Format] = {
    ".onnxtxt": "text",
    ".txt": "text",
    ".json": "json",
}  # the same suffixes as in `load`
PROTOBUF_TEXT = (".textproto", ".prototxt", ".pbtxt")
WRITE_BLOCK_BYTES = 1 << 16  # shorter pieces are concatenated before they are written
RELEASE_BLOCK_BYTES = 4 << 20  # written to file objects between two releases of pages


def save(
    model: ModelSource,
    target: str | os.PathLike[str] | BinaryWriter,
    *,
    external: str | bool | None = None,
    shard_size: int | None = None,
    threshold: int = 1024,
    align: int = 4096,
    format: Format | None = None,
    checksum: bool | None = None,
    drop_unknown: bool = False,
) -> None:
    """Writes a model to a file, with its data inline or in external data files, or to a binary file object, all inline.

    `model`: a model, a record, or anything else that `load` reads.
    `external`: None keeps external tensors external (in `NAME.data`, where NAME is the file name of the target) and
    the others inline; False writes all tensors inline; a name, or True for `NAME.data`, writes every tensor of at
    least `threshold` bytes to that file and the others inline.  The name is a location as in `external_data`, below
    the directory of the target; missing directories are created.  Strings and empty tensors are always inline.
    `shard_size`: maximum size of a data file in bytes, exceeded only by a file with a single tensor; several files
    are named `NAME-00001-of-00003.data`.
    `align`: tensors of at least that many bytes start at a multiple of it, smaller ones at a multiple of 64; 1 means
    no gaps.  Windows maps at multiples of 65536, other systems at 4096 or 16384.
    `format`: by default .onnxtxt and .txt are text, .json is JSON, all others binary.
    `checksum`: whether external tensors record the SHA-1 of their new file; None means that they do if the new file
    contains data of an old file with a checksum.
    `drop_unknown`: whether unknown fields are omitted; JSON cannot represent them, and text only for Sardonyx.
    Unknown fields of types whose shape or kind has changed since loading are omitted, with a note in `Model.notes`.

    Weights that are mapped from files are copied by the system where it can, and take no memory.

    A record is written unchanged, except for `drop_unknown`: data options are not allowed, and data files not written.

    Files are replaced after all of them are complete on disk, data before the model; a failure before that leaves the
    old files unchanged.  A model can therefore be saved over the files from which it is mapped (except on Windows,
    which does not replace open files).  A symbolic link at the target is replaced, not followed.  File modes follow
    the umask.  A data file that exists is replaced only if the model at the target refers to it; old ones with other
    names stay.  `external_data` keys that ONNX does not define are dropped, since they may refer to the old file.

    Raises ExternalDataError for a location that is not allowed or names the model or a file of another model, and for
    data that cannot be read or do not have their stated checksum, FileChanged for data in a mapped file that was
    changed, OSError for system errors, InputError for contradictory options, JsonError for unknown fields in JSON, and
    TypeError for arguments of other types.
    """
    if isinstance(model, Record):
        require_type("model", model, ModelProto, "a Model or a ModelProto record")
    else:
        model = resolve_model(model)
    require_flag("drop_unknown", drop_unknown)
    options = check_data_options(model, external, shard_size, threshold, align, checksum)
    if format is not None:
        require_choice("format", format, get_args(Format))
    if isinstance(target, str | os.PathLike):
        require_path("target", target)
        rule = external_rule(external, threshold)
        path = os.fspath(target)
        location = external if isinstance(external, str) else f"{os.path.basename(path)}.data"
        if isinstance(external, str):
            data_file_components(location, os.path.basename(path))
        layout = ExternalDataLayout(location, rule, align=align, shard_size=shard_size)
        encode = partial(encode_as, format=format_of(path, format), drop_unknown=drop_unknown)
        save_to_path(model, path, layout, encode, checksum=checksum)
    elif options:
        what = f"{options[0]} requires a path; got a file object; save to a path or omit the option"
        raise InputError(what, name=options[0])
    elif not hasattr(target, "write"):
        raise TypeError(f"target must be a path or a binary file object; got {type_name(target)}")
    else:
        if isinstance(model, Model):
            verify_checksums(model_tensors(model))
        record = to_proto.model(model) if isinstance(model, Model) else model
        write_blocks(target, encode_as(record, format_of("", format), drop_unknown))


def check_data_options(
    model: Model | ModelProto,
    external: str | bool | None,
    shard_size: int | None,
    threshold: int,
    align: int,
    checksum: bool | None,
) -> list[str]:
    """The names of the options that write data files; raises TypeError or InputError for options that do not fit."""
    require_type("external", external, (str, bool, type(None)), "a name, True, False or None")
    require_integer("shard_size", shard_size, 1, optional=True)
    require_integer("threshold", threshold, 0)
    require_integer("align", align, 1)
    require_type("checksum", checksum, (bool, type(None)), "True, False or None")
    given = {
        "external": external not in (None, False),
        "shard_size": shard_size is not None,
        "checksum": checksum,
    }
    options = [name for name, is_given in given.items() if is_given]
    if not isinstance(model, Model) and (options or external is False):
        what = f"{(options or ['external'])[0]} requires a Model; got a record; convert it with sx.load to move its data"
        raise InputError(what, name=(options or ["external"])[0])
    if external is False and options:
        raise InputError(f"{options[0]} requires external data; got external=False", name=options[0])
    return options


def save_to_path(
    model: Model | ModelProto,
    path: str,
    layout: ExternalDataLayout,
    encode: Callable[[ModelProto], Iterator[Payload]],
    *,
    checksum: bool | None,
) -> None:
    """Writes the data files and the model under temporary names, and then renames all of them."""
    folder, name = os.path.split(path)
    if not name:
        raise IsADirectoryError(errno.EISDIR, "the target must be a file; got a directory", path)
    tensors = [*model_tensors(model)] if isinstance(model, Model) else []
    with Staging(folder or os.curdir) as staging:
        with verify_meanwhile(tensors):
            record = model
            if isinstance(model, Model):
                record = to_proto.model(model, layout.place)
                refuse_foreign_files(path, (data_file_components(n, name) for n in layout.names()))
                write_data(staging, layout, name, checksum=checksum)
                # Final names and checksums are known only now.
                if len(layout.files) > 1 or any(file.checksum for file in layout.files):
                    record = to_proto.model(model, layout.place)
            assert isinstance(record, ModelProto), "to_proto must return a ModelProto"
            with staging.create([name]) as file:
                write_blocks(file, encode(record))
        verify_checksums(tensors)  # hashes only files that were changed meanwhile
        staging.commit()


def external_rule(external: str | bool | None, threshold: int) -> Callable[[Tensor], bool]:
    """The predicate that selects external tensors."""
    if external is None:
        return lambda tensor: isinstance(tensor.storage, ExternalStorage)
    if external is False:
        return lambda tensor: False
    return lambda tensor: tensor.nbytes >= threshold


def format_of(path: str, format: Format | None) -> Format:
    """The given format, or the one implied by the suffix."""
    if format is not None:
        return format
    suffix = os.path.splitext(path)[1]
    if suffix in PROTOBUF_TEXT:
        what = f"the suffix must belong to a supported format; got {suffix}, protobuf's text format"
        raise InputError(f"{what}; use .onnxtxt, .json or .onnx, or pass `format`", name="target")
    return SUFFIXES.get(suffix, "binary")


def data_file_components(location: str, model_name: str) -> tuple[str, ...]:
    """The components of the location of a data file, validated as in loading."""
    names = components(location, "external")
    if names[0].casefold() == model_name.casefold():  # some file systems are case-insensitive
        what = f"a data file must not have the name of the model; got {location!r} for {model_name!r}"
        raise ExternalDataError(f"{what}; choose another name", location="external")
    return names


def write_data(
    staging: Staging, layout: ExternalDataLayout, model_name: str, *, checksum: bool | None
) -> None:
    for file, location in zip(layout.files, layout.names(), strict=True):
        with staging.create(data_file_components(location, model_name)) as staged:
            write_pieces(staged, file, checksum=file.had_checksum if checksum is None else checksum)


def write_pieces(staged: StagedFile, file: DataFileLayout, *, checksum: bool) -> None:
    """Writes the tensors of a data file at their offsets; with `checksum`, also determines its hash."""
    from sardonyx._src.io.saving.hashing_thread import (
        HashingThread,  # loads slowly, and only checksums need it
    )

    file.checksum = checksum_of_copy(file) if checksum else ""
    with HashingThread() if checksum and not file.checksum else nullcontext() as hashing:
        end = 0
        for offset, tensor in file.pieces:
            data = memoryview(pack_tensor(tensor)).cast("B")
            assert len(data) == tensor.nbytes, (
                f"{tensor!r} must pack into {tensor.nbytes} bytes; got {len(data)}"
            )
            if hashing is not None:
                hashing.update(offset - end, data)
            staged.skip_to(offset)
            staged.write(data)
            end = offset + len(data)
        if hashing is not None:
            file.checksum = hashing.hexdigest()


def checksum_of_copy(file: DataFileLayout) -> str:
    """The verified checksum of an existing data file with the same bytes; "" if the file is not a copy of one."""
    source = file.pieces[0][1].storage
    if not isinstance(source, ExternalStorage) or not source.needs_verification:
        return ""
    contents, end = source.contents(), 0
    for offset, tensor in file.pieces:
        storage = tensor.storage
        if not isinstance(storage, ExternalStorage) or (storage.file, storage.offset) != (
            source.file,
            offset,
        ):
            return ""
        if any(contents.part(end, offset - end)):  # gaps are zeros in the new file
            return ""
        end = offset + tensor.nbytes
    return source.checksum.strip().lower() if contents.size == end else ""


def encode_as(record: Record, format: Format, drop_unknown: bool = False) -> Iterator[Payload]:
    """The pieces of a record in a format."""
    if drop_unknown:
        record = without_unknown(record)
    if format == "binary":
        return binary.chunks(record)
    # Lazy imports: these codecs are slow to load and rarely used.
    if format == "json":
        from sardonyx._src.proto.json import to_json

        return iter((to_json(record).encode(),))
    from sardonyx._src.proto.text import to_text

    return iter((to_text(record).encode(),))


def write_blocks(file: BinaryWriter, pieces: Iterable[Payload]) -> None:
    """Writes the pieces; short ones are concatenated into blocks.

    Raises FileChanged if a piece is in a mapped file that was changed before the end.
    """
    short: list[Payload] = []
    size = 0
    sources: dict[int, MappedFile] = {}
    for piece in pieces:
        owner = mapped_file_behind(piece)
        if owner is not None and id(owner) not in sources:
            owner.require_unchanged()
            sources[id(owner)] = owner
        if len(piece) < WRITE_BLOCK_BYTES:
            short.append(piece)
            size += len(piece)
        if size >= WRITE_BLOCK_BYTES or len(piece) >= WRITE_BLOCK_BYTES:
            write_all(file, b"".join(short))
            short, size = [], 0
        if len(piece) >= WRITE_BLOCK_BYTES:
            write_long(file, piece)
    write_all(file, b"".join(short))
    for owner in sources.values():
        owner.require_unchanged()


def write_long(file: BinaryWriter | StagedFile, piece: Payload) -> None:
    """Writes a long piece; if it is mapped, its pages are released after they were written."""
    if isinstance(file, StagedFile):
        file.write(piece)
        return
    for block in iter_releasing(memoryview(piece).cast("B"), RELEASE_BLOCK_BYTES):
        write_all(file, block)
