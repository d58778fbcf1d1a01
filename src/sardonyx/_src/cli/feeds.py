"""Inputs from the command line: files and literals."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.io.data_proto import datum_from
from sardonyx._src.io.external import ExternalFiles, Policy
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import MapType, OptionalType, SequenceType, SparseTensorType
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode
from sardonyx._src.proto.record import Record
from sardonyx._src.runtime.session import Port

NOT_NUMPY = (ValueError, EOFError, zipfile.BadZipFile)  # what NumPy raises for files that are not its own
NOT_JSON = (ValueError, RecursionError)
RECORDS: dict[type, type[Record]] = {
    SequenceType: m.SequenceProto,
    OptionalType: m.OptionalProto,
    MapType: m.MapProto,
    SparseTensorType: m.SparseTensorProto,
}


def read_feeds(words: Sequence[str], ports: Sequence[Port]) -> dict[str, object]:
    """Feeds from words: `NAME=VALUE`, a `.npz` or `.json` file of all inputs, or a folder of `input_0.pb`, …

    VALUE is a `.npy`, `.pb` or `.json` file, or a literal such as `3`, `[[1, 2]]` or `"text"`.
    """
    feeds: dict[str, object] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if separator and not Path(word).exists():
            feeds[name] = read_value(value, next((p for p in ports if p.name == name), None), name)
        else:
            feeds.update(read_file(Path(word), ports))
    return feeds


def read_file(path: Path, ports: Sequence[Port]) -> Mapping[str, object]:
    if path.is_dir():
        return read_folder(path, ports)
    if path.suffix == ".npz":
        return read_archive(path)
    if path.suffix == ".json":
        content = read_json(path)
        if isinstance(content, dict):
            known = {p.name: p for p in ports}
            return {name: numbers(value, known.get(name)) for name, value in content.items()}
    first = [p for p in ports if not p.has_default]
    if len(first) != 1:
        raise InputError(f"{path}: which input is it for? Write NAME={path}", name=str(path))
    return {first[0].name: read_value(str(path), first[0], first[0].name)}


def read_folder(path: Path, ports: Sequence[Port]) -> Mapping[str, object]:
    """The values in `input_0.pb`, `input_1.pb`, …, which are for the inputs in order."""
    files = {p.name: p for p in path.glob("input_*.pb")}
    ordered = [files.pop(name) for i in range(len(files)) if (name := f"input_{i}.pb") in files]
    if files or not ordered:
        found = min(files, default="no input_0.pb")
        raise InputError(f"{path}: {found}, where input_0.pb, input_1.pb, ... are wanted", name=str(path))
    if len(ordered) > len(ports):
        what = f"{path}: {len(ordered)} input files, and the model has {len(ports)} inputs"
        raise InputError(what, name=str(path))
    return {p.name: read_value(str(f), p, p.name) for p, f in zip(ports, ordered, strict=False)}


def read_archive(path: Path) -> Mapping[str, object]:
    content = read_numpy(path)
    if isinstance(content, np.ndarray):
        raise InputError(f"{path} holds one array, as .npy files do, and no names", name=str(path))
    return content


def read_numpy(path: Path) -> Array | dict[str, Array]:
    """The array of a `.npy`, or the arrays of a `.npz`, whatever the file is called."""
    try:
        with path.open("rb") as file:
            content = np.load(file, allow_pickle=False)
            return (
                content
                if isinstance(content, np.ndarray)
                else {name: content[name] for name in content.files}
            )
    except NOT_NUMPY as error:
        raise InputError(f"{path}: {error}", name=str(path)) from None


def read_value(text: str, port: Port | None, name: str) -> object:
    """The value of one input: of a file by its ending, else of a literal."""
    path = Path(text)
    if path.suffix == ".npy":
        return read_numpy(path)
    if path.suffix == ".pb":
        kind = RECORDS.get(type(port.type) if port else object, m.TensorProto)
        record = decode(path.read_bytes(), kind, source=text)
        return datum_from(record, ExternalFiles(path, Policy.STRICT), name)  # type: ignore[arg-type]
    if path.suffix == ".json":
        return numbers(read_json(path), port)
    try:
        return numbers(json.loads(text), port)
    except NOT_JSON as error:
        cure = 'a file (.npy, .pb, .json), or a literal such as 3, [[1, 2]] or "text"'
        raise InputError(f"{name}={text}: neither {cure}: {error}", name=name) from None


def read_json(path: Path) -> object:
    try:
        return json.loads(path.read_text("utf-8"))
    except NOT_JSON as error:
        raise InputError(f"{path} is no JSON document: {error}", name=str(path)) from None


def numbers(value: object, port: Port | None) -> object:
    """The value with "NaN", "Infinity" and "-Infinity", as outputs are printed, for what they stand for in floats."""
    if port is None or port.dtype is None or not port.dtype.is_float:
        return value
    if isinstance(value, list):
        return [numbers(one, port) for one in value]
    return float(value) if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity") else value
