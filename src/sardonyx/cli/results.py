"""Results on the command line: printed, as JSON, or saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sardonyx.cli.summary import Json
from sardonyx.errors import OutputError
from sardonyx.io.data_proto import datum_to
from sardonyx.ir.tensors import Array, SparseTensor
from sardonyx.ops.api import RuntimeValue
from sardonyx.proto.binary import encode

EDGE = 3  # elements shown at either end of a long axis


def printed(name: str, value: RuntimeValue) -> str:
    """A result as a person reads it: element type, shape, and the elements, long axes cut short."""
    if isinstance(value, np.ndarray):
        with np.printoptions(threshold=100, edgeitems=EDGE, precision=6, suppress=True):
            return f"{name}: {value.dtype}{list(value.shape)}\n{value}"
    if isinstance(value, list):
        return "\n".join(
            [f"{name}: {len(value)} elements", *(printed(f"{name}[{i}]", v) for i, v in enumerate(value))]
        )
    if isinstance(value, dict):
        return f"{name}: " + ", ".join(f"{k!r}: {v}" for k, v in value.items())
    return f"{name}: {value}"


def as_json(value: RuntimeValue) -> Json:
    """A result as JSON: nested lists; complex numbers as pairs, NaN and infinities as text."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "c":
            value = np.stack([value.real, value.imag], axis=-1)
        plain = value.astype(np.float64) if value.dtype.kind in "Vf" else value
        return scalars(plain.tolist())
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
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def save(results: Mapping[str, RuntimeValue], path: Path) -> None:
    """Writes results to a `.npz` of all, a `.npy` of the only one, or a folder of `output_0.pb`, …"""
    if path.suffix == ".npz":
        np.savez(path, allow_pickle=False, **arrays(results, path))
    elif path.suffix == ".npy":
        if len(results) != 1:
            raise OutputError(
                f"{path} holds one array, and there are {len(results)} outputs: use .npz", name=str(path)
            )
        np.save(path, next(iter(arrays(results, path).values())), allow_pickle=False)
    else:
        path.mkdir(parents=True, exist_ok=True)
        for i, (name, value) in enumerate(results.items()):
            (path / f"output_{i}.pb").write_bytes(encode(datum_to(value, name)))


def arrays(results: Mapping[str, RuntimeValue], path: Path) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, value in results.items():
        if not isinstance(value, np.ndarray):
            what = (
                f"output {name!r} is no tensor, which {path.suffix} cannot hold: name a folder for .pb files"
            )
            raise OutputError(what, name=name)
        found[name] = value.astype(str) if value.dtype == object else value
    return found
