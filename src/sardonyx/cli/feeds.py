"""Inputs from the command line: files, literals, random numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from sardonyx.dtypes import DataType
from sardonyx.errors import InputError
from sardonyx.io.data_proto import datum_from
from sardonyx.io.external import ExternalFiles, Policy
from sardonyx.ir.dims import Dim, evaluate
from sardonyx.ir.tensors import Array
from sardonyx.ir.types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type
from sardonyx.proto import messages as m
from sardonyx.proto.binary import decode
from sardonyx.proto.record import Record
from sardonyx.runtime.session import Port

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
        files = sorted(path.glob("input_*.pb"), key=lambda p: int(p.stem.rpartition("_")[2]))
        return {p.name: read_value(str(f), p, p.name) for p, f in zip(ports, files, strict=False)}
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    if path.suffix == ".json":
        content = json.loads(path.read_text("utf-8"))
        if isinstance(content, dict):
            return content
    first = [p for p in ports if not p.has_default]
    if len(first) != 1:
        raise InputError(f"{path}: which input is it for? Write NAME={path}", name=str(path))
    return {first[0].name: read_value(str(path), first[0], first[0].name)}


def read_value(text: str, port: Port | None, name: str) -> object:
    """The value of one input: of a file by its ending, else of a literal."""
    path = Path(text)
    if path.suffix == ".npy":
        return np.load(path, allow_pickle=False)
    if path.suffix == ".pb":
        kind = RECORDS.get(type(port.type) if port else object, m.TensorProto)
        record = decode(path.read_bytes(), kind, source=text)
        return datum_from(record, ExternalFiles(path, Policy.STRICT), name)  # type: ignore[arg-type]
    if path.suffix == ".json":
        text = path.read_text("utf-8")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        cure = 'a file (.npy, .pb, .json), or a literal such as 3, [[1, 2]] or "text"'
        raise InputError(f"{name}={text}: neither {cure}: {error}", name=name) from None


# --- random ----------------------------------------------------------------------------------


def random_feeds(
    ports: Iterable[Port], given: Mapping[str, object], seed: int, sizes: Mapping[str, int]
) -> dict[str, object]:
    """Random values for the inputs that are not given and have no default: floats from a normal distribution,
    small integers, either truth value.  `sizes` fixes dimension variables; others are 1."""
    rng = np.random.default_rng(seed)
    todo = (p for p in ports if p.name not in given and not p.has_default)
    return {p.name: random_value(p.type, p.name, rng, sizes) for p in todo}


def random_value(type: Type | None, name: str, rng: np.random.Generator, sizes: Mapping[str, int]) -> object:
    match type:
        case TensorType():
            if type.shape is None:
                raise InputError(f"input {name!r} states no rank: give it a value", name=name)
            return random_tensor(type.dtype, [length(d, sizes) for d in type.shape], rng)
        case SequenceType():
            return [random_value(type.elem, name, rng, sizes)]
        case OptionalType():
            return random_value(type.elem, name, rng, sizes)
    raise InputError(
        f"input {name!r} is of type {type}, of which there are no random values: give it one", name=name
    )


def length(dim: Dim, sizes: Mapping[str, int]) -> int:
    if dim is None or isinstance(dim, int):
        return 1 if dim is None else dim
    known = {name: sizes.get(name, 1) for name in dim.symbols()}
    value = evaluate(dim, known)
    return 1 if value is None else max(value, 0)


def random_tensor(dtype: DataType, shape: Sequence[int], rng: np.random.Generator) -> Array:
    if dtype is DataType.STRING:
        words = np.array(["sard", "onyx", "agate", ""], object)
        return words[rng.integers(0, len(words), shape)]
    if dtype is DataType.BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.is_integer:
        top = min(10, 2 ** (dtype.bits - (1 if dtype.is_signed else 0)))
        return rng.integers(0, top, shape).astype(dtype.numpy)
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if dtype.is_complex else values).astype(dtype.numpy)
