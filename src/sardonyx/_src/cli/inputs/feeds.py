"""Model inputs from the command line: files and literals."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.io.external import ExternalFiles, Policy
from sardonyx._src.io.serde.data import datum_from, record_type
from sardonyx._src.ir import Array
from sardonyx._src.proto.binary import decode
from sardonyx._src.runtime.session.session import SessionValue

NOT_NUMPY = (ValueError, EOFError, zipfile.BadZipFile)  # raised by NumPy for files in another format
NOT_JSON = (ValueError, RecursionError)


def read_feeds(words: Sequence[str], ports: Sequence[SessionValue]) -> dict[str, object]:
    """Feeds from words: `NAME=VALUE`, a `.npz` or `.json` file with all inputs, or a directory of `input_0.pb`, …

    VALUE is a `.npy`, `.pb` or `.json` file, or a literal: `3`, `[[1, 2]]` or `"text"`.
    """
    feeds: dict[str, object] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if separator and not Path(word).exists():
            feeds[name] = read_value(value, next((p for p in ports if p.name == name), None), name)
        else:
            feeds.update(read_file(Path(word), ports))
    return feeds


def read_file(path: Path, ports: Sequence[SessionValue]) -> Mapping[str, object]:
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
        raise InputError(
            f"{path} must be for one input; got {len(first)} inputs without default; write NAME={path}",
            name=str(path),
        )
    return {first[0].name: read_value(str(path), first[0], first[0].name)}


def read_folder(path: Path, ports: Sequence[SessionValue]) -> Mapping[str, object]:
    """The values in `input_0.pb`, `input_1.pb`, …, by the names of the inputs in order."""
    files = {p.name: p for p in path.glob("input_*.pb")}
    ordered = [files.pop(name) for i in range(len(files)) if (name := f"input_{i}.pb") in files]
    if files or not ordered:
        actual = min(files, default="no input_0.pb")
        raise InputError(
            f"{path} must contain input_0.pb, input_1.pb, ... without gaps; got {actual}", name=str(path)
        )
    if len(ordered) > len(ports):
        what = f"{path} must have at most {len(ports)} input files, one per input; got {len(ordered)}"
        raise InputError(what, name=str(path))
    return {p.name: read_value(str(f), p, p.name) for p, f in zip(ports, ordered, strict=False)}


def read_archive(path: Path) -> Mapping[str, object]:
    content = read_numpy(path)
    if isinstance(content, np.ndarray):
        raise InputError(
            f"{path} must be an archive of named arrays; got a single array; name the file .npy",
            name=str(path),
        )
    return content


def read_numpy(path: Path) -> Array | dict[str, Array]:
    """The array of a `.npy` file or the arrays of a `.npz` file; the content decides, not the name."""
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


def read_value(text: str, port: SessionValue | None, name: str) -> object:
    """The value of one input: the content of a file, by suffix, or a literal."""
    path = Path(text)
    if path.suffix == ".npy":
        return read_numpy(path)
    if path.suffix == ".pb":
        record = decode(path.read_bytes(), record_type(port.type if port else None), source=text)
        return datum_from(record, ExternalFiles(path, Policy.STRICT), name)
    if path.suffix == ".json":
        return numbers(read_json(path), port)
    try:
        return numbers(json.loads(text), port)
    except NOT_JSON as error:
        cure = 'a file (.npy, .pb, .json), or a literal such as 3, [[1, 2]] or "text"'
        raise InputError(f"{name} must be {cure}; got {text}: {error}", name=name) from None


def read_json(path: Path) -> object:
    try:
        return json.loads(path.read_text("utf-8"))
    except NOT_JSON as error:
        raise InputError(f"{path} must be a JSON document; got {error}", name=str(path)) from None


def numbers(value: object, port: SessionValue | None) -> object:
    """The value, with "NaN", "Infinity" and "-Infinity" converted to floats for inputs of a float type."""
    if port is None or port.dtype is None or not port.dtype.is_float:
        return value
    if isinstance(value, list):
        return [numbers(item, port) for item in value]
    return float(value) if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity") else value
