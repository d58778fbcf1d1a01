"""Model outputs on the command line: as text, as JSON, or saved to files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sardonyx._src.cli.output.destinations import create_parent, is_stream, open_stream
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.cli.output.summary import Json
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.io.saving.whole_file import replaced_file
from sardonyx._src.io.serde.data import datum_to
from sardonyx._src.ir import Array, SparseTensor, Type
from sardonyx._src.ir.types import shape_text
from sardonyx._src.measure.quantities import pluralize
from sardonyx._src.ops.api import RunResult, RuntimeValue
from sardonyx._src.proto.binary import encode
from sardonyx._src.runtime.identity.value_digest import combine_digests, digest_value

SUFFIXES = (".npz", ".npy", ".json", ".pb")  # suffixes of files for outputs
EDGE_ELEMENTS = 3  # elements that are printed at each end of a long axis
NUMPY_KINDS = frozenset("biufc")  # dtype kinds that .npy files can store


def format_result(name: str, value: RuntimeValue) -> str:
    """An output as text: element type, shape and elements, with long axes truncated."""
    label = printable(name)
    if isinstance(value, SparseTensor):
        value = value.numpy()
    if isinstance(value, np.ndarray):
        with np.printoptions(threshold=100, edgeitems=EDGE_ELEMENTS, precision=6, suppress=True):
            return f"{label}: {DataType.of(value.dtype).text}{shape_text(value.shape)}\n{value}"
    if isinstance(value, list):
        parts = (format_result(f"{name}[{i}]", v) for i, v in enumerate(value))
        return "\n".join([f"{label}: {pluralize(len(value), 'element')}", *parts])
    if isinstance(value, dict):
        return f"{label}: " + ", ".join(f"{k!r}: {v}" for k, v in value.items())
    return f"{label}: none"


def as_json(value: RuntimeValue) -> Json:
    """An output as JSON: nested lists, complex numbers as pairs, NaN and infinities as in protobuf's JSON mapping."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "c":
            value = np.stack([value.real, value.imag], axis=-1)
        elif value.dtype.kind not in "biuOU":
            with np.errstate(invalid="ignore"):  # NaN is no error
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
    """All outputs as a JSON object on one line."""
    return json.dumps({name: as_json(v) for name, v in results.items()}) + "\n"


def digest_text(results: Mapping[str, RuntimeValue], *, is_json: bool) -> str:
    """The digest of all outputs on one line; or as JSON, with that of each output."""
    digests = {name: digest_value(value) for name, value in results.items()}
    total = combine_digests(digests)
    return (json.dumps({"digest": total, "outputs": digests}) if is_json else total) + "\n"


def save(
    results: Mapping[str, RunResult], target: str, types: Mapping[str, Type | None] | None = None
) -> None:
    """Writes all outputs to a `.npz` or `.json` file or a folder of `output_0.pb`, …, or one output to `.npy` or `.pb`.

    target: a path, whose folders are created, or a stream, to which the bytes of a `.npz` file are written.
    types: the declared types by name, which decide the messages of `.pb` files.
    """
    if is_stream(target):
        with open_stream(target) as stream:
            np.savez(stream, allow_pickle=False, **arrays(results, ".npz"))
        return
    create_parent(target)
    suffix = "" if os.path.isdir(target) else os.path.splitext(target)[1]
    if suffix:
        save_file(results, Path(target), types or {})
    else:
        save_folder(results, Path(target), types or {})


def save_file(results: Mapping[str, RunResult], path: Path, types: Mapping[str, Type | None]) -> None:
    """Writes the outputs to a file with one of the suffixes."""
    if path.suffix in (".npy", ".pb") and len(results) != 1:
        what = f"a {path.suffix} file must have one output; got {len(results)}; use .npz, .json or a folder"
        raise InputError(what, name=str(path))
    with replaced_file(path) as file:
        if path.suffix == ".npz":
            np.savez(file, allow_pickle=False, **arrays(results, path.suffix))
        elif path.suffix == ".npy":
            np.save(file, next(iter(arrays(results, path.suffix).values())), allow_pickle=False)
        elif path.suffix == ".json":
            file.write(json_text(results).encode())
        else:
            assert path.suffix == ".pb", f"unknown suffix {path.suffix}"
            ((name, value),) = results.items()
            file.write(encode(datum_to(value, name, types.get(name))))


def save_folder(results: Mapping[str, RunResult], path: Path, types: Mapping[str, Type | None]) -> None:
    """Writes the outputs to `output_0.pb`, … in a folder."""
    path.mkdir(exist_ok=True)
    for i, (name, value) in enumerate(results.items()):
        with replaced_file(path / f"output_{i}.pb") as file:
            file.write(encode(datum_to(value, name, types.get(name))))


def arrays(results: Mapping[str, RuntimeValue], suffix: str) -> dict[str, Array]:
    """The outputs as arrays that `.npy` and `.npz` files can store; raises InputError for others."""
    converted: dict[str, Array] = {}
    for name, value in results.items():
        if isinstance(value, np.ndarray) and value.dtype == np.object_:
            value = value.astype(str)
        if not isinstance(value, np.ndarray) or value.dtype.kind not in NUMPY_KINDS | {"U"}:
            kind = (
                DataType.of(value.dtype).text
                if isinstance(value, np.ndarray)
                else "a value that is not a tensor"
            )
            what = f"output {name!r} must have a NumPy type to be saved as {suffix}; got {kind}; save to a folder"
            raise InputError(what, name=name)
        converted[name] = value
    return converted
