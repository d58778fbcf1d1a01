"""What a certificate states of a value: its kind, type and dims, its digest, and a sample of its elements."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from dataclasses import field
from typing import Any

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType, pack, unpack
from sardonyx._src.ir import Array, SparseTensor
from sardonyx._src.ir.types import shape_text
from sardonyx._src.ops.api import RunResult
from sardonyx._src.runtime.identity.value_digest import digest_value

SAMPLE_ELEMENTS = 256
KINDS = ("tensor", "sparse", "sequence", "map", "none")
DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ValueRecord:
    """The record of an input or output of a run.  Records are equal by kind, type and digest, which decide the rest.

    kind: "tensor", "sparse", "sequence", "map" or "none".
    dtype, shape: of a tensor, dense or sparse.
    digest: the SHA-256 of the value, see `runtime.identity.value_digest`.
    size: the number of elements; of a sequence or map, of the numbers in all of its dense tensors, one after another.
    sample: the first, the last and further numbers, at equal distances: all if there are at most `SAMPLE_ELEMENTS`.  They show by
        how much another result differs.  Of a sequence or map they are doubles.
    """

    kind: str
    digest: str
    dtype: DataType | None = None
    shape: tuple[int, ...] | None = None
    size: int = field(default=0, compare=False)
    sample: Array | None = field(default=None, compare=False)

    @classmethod
    def of(cls, value: RunResult, *, has_sample: bool) -> ValueRecord:
        """The record of a value, with a sample if that is asked for and possible."""
        digest = digest_value(value)
        if isinstance(value, SparseTensor):
            return cls("sparse", digest, value.dtype, value.shape)
        if isinstance(value, np.ndarray):
            dtype = DataType.of(value.dtype)
            sample = sample_elements(value) if has_sample and dtype is not DataType.STRING else None
            return cls("tensor", digest, dtype, value.shape, value.size, sample)
        if not isinstance(value, list | dict):
            return cls("none", digest)
        numbers = flatten_numbers(value)
        kind = "sequence" if isinstance(value, list) else "map"
        return cls(kind, digest, size=numbers.size, sample=sample_elements(numbers) if has_sample else None)

    @property
    def type_text(self) -> str:
        """The type in words: `float[1,2]`, `sequence`."""
        if self.dtype is None or self.shape is None:
            return self.kind
        return f"{'sparse ' * (self.kind == 'sparse')}{self.dtype.text}{shape_text(self.shape)}"

    def as_json(self) -> dict[str, object]:
        """The record as JSON; the sample is raw data of ONNX, in base64."""
        facts: dict[str, object] = {"kind": self.kind, "sha256": self.digest}
        if self.dtype is not None and self.shape is not None:
            facts |= {"type": self.dtype.text, "shape": [*self.shape]}
        if self.sample is not None:
            sample = b64encode(pack(self.sample, DataType.of(self.sample.dtype))).decode()
            facts |= {"size": self.size, "sample": sample}
        return facts

    @classmethod
    def from_json(cls, facts: Any) -> ValueRecord:
        """The record that `as_json` has written; raises KeyError, TypeError or ValueError for anything else."""
        kind, digest = facts["kind"], facts["sha256"]
        if kind not in KINDS or not DIGEST.fullmatch(digest):
            raise ValueError(f"a value must have a known kind and a SHA-256; got {kind!r} and {digest!r}")
        dtype = DataType.parse(facts["type"]) if "type" in facts else None
        shape = tuple(map(read_count, facts["shape"])) if "shape" in facts else None
        size, sample = read_count(facts.get("size", 0)), None
        if "sample" in facts:
            raw = b64decode(facts["sample"], validate=True)
            sample = unpack(raw, dtype or DataType.DOUBLE, [min(size, SAMPLE_ELEMENTS)])
        return cls(kind, digest, dtype, shape, size, sample)


def read_count(number: object) -> int:
    """A number of elements in JSON; raises ValueError for anything but an integer, 0 or more."""
    if type(number) is not int or number < 0:
        raise ValueError(f"a number of elements must be an integer, 0 or more; got {number!r}")
    return number


def flatten_numbers(value: RunResult) -> Array:
    """The numbers in the dense tensors of a sequence or map, in its order: float64 [size], of complex numbers the real parts."""
    if isinstance(value, list | dict):
        items = value if isinstance(value, list) else value.values()
        return np.concatenate([np.zeros(0), *map(flatten_numbers, items)])
    if not isinstance(value, np.ndarray | np.generic) or DataType.of(value.dtype) is DataType.STRING:
        return np.zeros(0)
    array = np.asarray(value)
    return (array.real if array.dtype.kind == "c" else array).astype(np.float64).reshape(-1)


def sample_elements(array: Array) -> Array:
    """The sampled elements of an array: [count]."""
    return array.reshape(-1)[sample_positions(array.size)]


def sample_positions(size: int) -> list[int]:
    """The positions of the sampled elements of `size` elements in C order, ascending."""
    if size <= SAMPLE_ELEMENTS:
        return [*range(size)]
    return [i * (size - 1) // (SAMPLE_ELEMENTS - 1) for i in range(SAMPLE_ELEMENTS)]
