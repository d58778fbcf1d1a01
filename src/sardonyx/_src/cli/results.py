"""Results on the command line: printed, as JSON, or saved."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sardonyx._src.cli.streams import printable
from sardonyx._src.cli.summary import Json
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.io.data_proto import datum_to
from sardonyx._src.ir.tensors import Array, SparseTensor
from sardonyx._src.ir.types import shape_text
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.proto.binary import encode

EDGE = 3  # elements shown at either end of a long axis
NARROW = frozenset("biufc")  # kinds of element types that NumPy itself can store


def printed(name: str, value: RuntimeValue) -> str:
    """A result as a person reads it: element type, shape, and the elements, long axes cut short."""
    label = printable(name)
    if isinstance(value, SparseTensor):
        value = value.numpy()
    if isinstance(value, np.ndarray):
        with np.printoptions(threshold=100, edgeitems=EDGE, precision=6, suppress=True):
            return f"{label}: {DataType.of(value.dtype).text}{shape_text(value.shape)}\n{value}"
    if isinstance(value, list):
        parts = (printed(f"{name}[{i}]", v) for i, v in enumerate(value))
        return "\n".join([f"{label}: {len(value)} elements", *parts])
    if isinstance(value, dict):
        return f"{label}: " + ", ".join(f"{k!r}: {v}" for k, v in value.items())
    return f"{label}: none"


def as_json(value: RuntimeValue) -> Json:
    """A result as JSON: nested lists; complex numbers as pairs, NaN and infinities by name as protobuf has them."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "c":
            value = np.stack([value.real, value.imag], axis=-1)
        elif value.dtype.kind not in "biuOU":
            with np.errstate(invalid="ignore"):  # of NaN
                value = value.astype(np.int64 if DataType.of(value.dtype).is_integer else np.float64)
        return scalars(value.tolist())
    if isinstance(value, SparseTensor):
        return as_json(value.numpy())
    if isinstance(value, list):
        return [as_json(v) for v in value]
    if isinstance(value, dict):
        return {str(k): as_json(v) for k, v in value.items()}
    return None


def scalars(value: Json) -> Json:
    if isinstance(value, list):
        return [scalars(v) for v in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def json_text(results: Mapping[str, RuntimeValue]) -> str:
    """An object of all results, on one line."""
    return json.dumps({name: as_json(v) for name, v in results.items()}) + "\n"


def save(results: Mapping[str, RuntimeValue], path: Path) -> None:
    """Writes results to a `.npz` or `.json` of all, a `.npy` or `.pb` of the only one, or a folder of `output_0.pb`, …"""
    if path.suffix in (".npy", ".pb") and len(results) != 1:
        what = f"{path} holds one value, and there are {len(results)} outputs: use .npz, .json or a folder"
        raise InputError(what, name=str(path))
    if path.suffix == ".npz":
        np.savez(path, allow_pickle=False, **arrays(results, path))
    elif path.suffix == ".npy":
        np.save(path, next(iter(arrays(results, path).values())), allow_pickle=False)
    elif path.suffix == ".json":
        path.write_text(json_text(results), "utf-8")
    elif path.suffix == ".pb":
        ((name, value),) = results.items()
        path.write_bytes(encode(datum_to(value, name)))
    else:
        path.mkdir(parents=True, exist_ok=True)
        for i, (name, value) in enumerate(results.items()):
            (path / f"output_{i}.pb").write_bytes(encode(datum_to(value, name)))


def arrays(results: Mapping[str, RuntimeValue], path: Path) -> dict[str, Array]:
    """The results as arrays that NumPy's files can hold; raises InputError for others."""
    found: dict[str, Array] = {}
    for name, value in results.items():
        if isinstance(value, np.ndarray) and value.dtype == np.object_:
            value = value.astype(str)
        if not isinstance(value, np.ndarray) or value.dtype.kind not in NARROW | {"U"}:
            kind = DataType.of(value.dtype).text if isinstance(value, np.ndarray) else "no tensor"
            what = f"output {name!r} is {kind}, which {path.suffix} cannot hold: name a folder for .pb files"
            raise InputError(what, name=name)
        found[name] = value
    return found
