"""Loading a model from a path, bytes, a file object, a record or a foreign ModelProto."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from sardonyx._src.arguments import require_flag, require_path, require_type, type_name
from sardonyx._src.errors import DecodeError, InvalidModel, SardonyxError
from sardonyx._src.io.external import ExternalFiles, Policy
from sardonyx._src.io.external.opening import policy_of
from sardonyx._src.io.garbage_collection import pause_gc, promote_young_objects
from sardonyx._src.io.loading.environment import OPERATOR_SETS_VARIABLE
from sardonyx._src.io.loading.file_formats import FileData, explain_failure, require_model
from sardonyx._src.io.loading.model_sources import TEXT_SUFFIXES
from sardonyx._src.io.loading.model_sources import ModelSource as ModelSource
from sardonyx._src.io.loading.model_sources import PathSource as PathSource
from sardonyx._src.io.loading.model_sources import Serializable as Serializable
from sardonyx._src.io.loading.model_sources import map_or_read as map_or_read
from sardonyx._src.io.serde import from_proto
from sardonyx._src.io.serde.graphs import NO_RUNS
from sardonyx._src.ir import Model
from sardonyx._src.ir.model import Note
from sardonyx._src.proto.binary import decode
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.wire import Limits, UndecodedRun

if TYPE_CHECKING:
    from sardonyx._src.io.loading.operator_sets import OperatorSetSource


def load(
    source: ModelSource,
    *,
    policy: Policy | str = Policy.HUB,
    base: PathSource | None = None,
    operator_sets: Iterable[OperatorSetSource] = (),
    limits: Limits | None = None,
    copy: bool = False,
    verify_checksums: bool = True,
) -> Model:
    """The model in `source`: a path, bytes, a binary file object, a record, or an object with `SerializeToString`,
    as onnx.ModelProto, or an onnx_ir.Model; a Model is returned unchanged.

    Paths that end in `.json` are read as protobuf's JSON mapping, those in `.onnxtxt` or `.txt` as ONNX text.
    Weights in files of more than 16 MiB are views of the mapped file, which must not be shortened or overwritten in place
    while the model is in use (replacing it by renaming is safe): what reads a tensor afterwards raises FileChanged, but
    arrays obtained before show the new content, and missing pages end the process (SIGBUS).  `copy` reads the model and
    external data into memory instead of mapping them.  `policy` determines which links to external data files are
    followed; `base` is the directory of external data if it is not that of the model.  Before data are used, the
    checksum that a tensor states is verified: the SHA-1 of its whole data file, computed once per version of the file;
    `verify_checksums=False` omits this.  `operator_sets` are operator-set documents, whose functions are added to models
    that import their domains, and folders that are searched for documents by domain and version; the folders of the
    environment variable SARDONYX_OPERATOR_SETS are searched last.  Repairs made while loading are listed in
    `Model.notes`.

    Raises DecodeError, TextError or JsonError for data in a wrong format, InvalidModel for records that are not a
    valid model, LimitError for data that exceed `limits`, OSError for files that cannot be read, InputError for an option
    with an unknown value, and TypeError for any other kind of source or argument.
    """
    require_flag("copy", copy)
    options = DataOptions(policy_of(policy), copy, check_reading(base, limits, verify_checksums))
    if isinstance(source, Model):
        model = source
    else:
        with pause_gc() as was_enabled:
            model = model_from(source, base, limits, options)
            if was_enabled:
                promote_young_objects()
    if (
        isinstance(operator_sets, tuple | list)
        and not operator_sets
        and not os.environ.get(OPERATOR_SETS_VARIABLE)
    ):
        return model
    from sardonyx._src.io.loading.attached_sets import with_operator_sets  # few models need it

    return with_operator_sets(model, operator_sets)


def resolve_model(source: ModelSource) -> Model:
    """The source itself if it is a Model, else `load(source)`."""
    return source if isinstance(source, Model) else load(source)


def check_reading(base: PathSource | None, limits: Limits | None, verify_checksums: bool) -> bool:
    """`verify_checksums` as a bool, after checking all three arguments: raises TypeError or InputError."""
    if base is not None:
        require_path("base", base)
    require_type("limits", limits, (Limits, type(None)), "sx.Limits or None")
    require_flag("verify_checksums", verify_checksums)
    return bool(verify_checksums)


class DataOptions(NamedTuple):
    """The options of `load` about external data."""

    policy: Policy
    copy: bool
    verify_checksums: bool


def model_from(
    source: ModelSource, base: PathSource | None, limits: Limits | None, options: DataOptions
) -> Model:
    """The model; a separate function, so that its records are freed on return."""
    content, path = read(source, copy=options.copy)
    model_path = path if base is None else os.path.join(base, "model")
    if isinstance(content, ModelProto):
        return build_model(content, model_path, options)
    name = path or ""
    undecoded: dict[int, UndecodedRun] = {}
    try:
        record = decode_model(content, limits, name, undecoded)
        return build_model(record, model_path, options, undecoded)
    except SardonyxError:
        if not undecoded:
            raise
    # Again from records of all nodes: only records can be sorted, and an error in the encoding is reported before
    # any other.
    return build_model(decode_model(content, limits, name), model_path, options)


def build_model(
    record: ModelProto,
    path: str | None,
    options: DataOptions,
    undecoded: Mapping[int, UndecodedRun] = NO_RUNS,
) -> Model:
    """The model of a record.  undecoded: the fields, by tag, that are still to be decoded."""
    files = ExternalFiles(path, options.policy, copy=options.copy, verify_checksums=options.verify_checksums)
    model = from_proto.model(record, files, undecoded)
    model.notes += [Note("external_data", text) for text in files.notes]
    return model


def read(source: ModelSource, *, copy: bool = False) -> tuple[ModelProto | FileData, str | None]:
    """The record of a model or the bytes of one, and the path of its file if it has one."""
    if isinstance(source, ModelProto):
        return source, None
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return read_file(path, copy=copy), path
    if isinstance(source, Serializable):
        return source.SerializeToString(), None
    if type(source).__module__.partition(".")[0] == "onnx_ir" and type(source).__name__ == "Model":
        return serialize_onnx_ir(source), None
    if isinstance(source, bytes | bytearray | memoryview):
        return source, None
    if isinstance(source, Model) or not hasattr(source, "read"):
        accepted = "a path, bytes, a binary file object or an object with SerializeToString"
        raise TypeError(f"a model source must be {accepted}; got {type_name(source)}")
    return read_stream(source)


def serialize_onnx_ir(model: object) -> bytes:
    """An `onnx_ir.Model` in the wire format."""
    try:
        data: bytes = sys.modules["onnx_ir"].to_proto(model).SerializeToString()
    except Exception as error:  # another library may raise anything
        raise TypeError(f"a model source must be an onnx_ir.Model that serializes; got {error}") from error
    return data


def read_stream(source: BinaryIO) -> tuple[FileData, str | None]:
    """The bytes of a file object, and the path of its file if it has one."""
    name = getattr(source, "name", None)
    path = name if isinstance(name, str) else None
    data: object = source.read()
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(
            f"the file object must return bytes; got {type(data).__name__}; open it in binary mode, or use sx.from_text"
        )
    if not data:
        raise InvalidModel(f"{path or 'the file'} must contain a model; got an empty file")
    return data, path


def read_file(path: str, *, copy: bool = False) -> ModelProto | FileData:
    """The record in a text file; the bytes of a binary file: a long one is mapped unless it is to be copied."""
    if os.path.splitext(path)[1] in TEXT_SUFFIXES:
        return read_text_file(path)
    return map_or_read(path, 1 << 63 if copy else None)  # 2^63: no file is longer


def read_text_file(path: str) -> ModelProto:
    """The record in a file whose name ends in one of `TEXT_SUFFIXES`."""
    from pathlib import Path  # few models are text

    from sardonyx._src.io.loading.text_files import read_text

    text = read_text(Path(path))
    if path.endswith(".json"):
        from sardonyx._src.proto.json import from_json

        return from_json(text, ModelProto)
    from sardonyx._src.proto.text import from_text

    return from_text(text, ModelProto, source=path)


def decode_model(
    data: FileData, limits: Limits | None, source: str = "", undecoded: dict[int, UndecodedRun] | None = None
) -> ModelProto:
    """The record of a model; raises DecodeError, naming the actual format if it is known, for other data."""
    try:
        record = decode(data, ModelProto, limits, source=source, undecoded=undecoded)
    except DecodeError as error:
        raise explain_failure(error, data, source) from None
    require_model(record, data, source)
    return record
