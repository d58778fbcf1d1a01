"""Tensors of a document as JSON: buffers with their locations, views of them, and the slots of a program."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from sardonyx._src.compile.program import Buffer, Kernel, TensorView
from sardonyx._src.compile.program.memory.arena import ArenaSlot, MemoryPlan
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.compile.program.operands.tensor import BufferRole
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Expr, Known, has_opaque_part
from sardonyx._src.runtime.identity.constant_keys import constant_key
from sardonyx._src.runtime.saved_programs.constant_files import MIN_BYTES, ConstantFiles
from sardonyx._src.runtime.saved_programs.container import (
    CONSTANTS,
    Json,
    aligned_offsets,
    expect_integer,
    expect_list,
    expect_object,
    expect_string,
    require,
)
from sardonyx._src.runtime.saved_programs.encoded_values import (
    decode_count,
    decode_dim,
    decode_dims,
    encode_count,
    encode_dim,
    encode_dims,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sardonyx._src.compile.program.encoding.encoding import Encoding
    from sardonyx._src.compile.program.encoding.slot_bases import RelocationBase

ImageSlots: TypeAlias = "NDArray[np.int64]"
BUFFER_ROLES = ("arena", "input", "output", "constant", "status")
POINTER_BYTES = 8


class TensorEncoder:
    """Encodes tensors.

    files: other files that may have constants of the program.
    storages: the encoded buffers, numbered in the order of first use.
    constants: the contents of constant buffers that the file of the program has, in the same order.
    mapped: the constants that other files have, each as the name of a file, an offset and a size; their numbers are
        negative, from -1 on.
    """

    def __init__(self, plan: MemoryPlan, files: ConstantFiles) -> None:
        self.plan, self.files = plan, files
        self.storages: list[Json] = []
        self.constants: list[Array | LazyConstant] = []
        self.mapped: list[Json] = []
        self._numbers: dict[Buffer, int] = {}

    def buffer(self, buffer: Buffer) -> int:
        """The number of a buffer."""
        if buffer not in self._numbers:
            self._numbers[buffer] = len(self.storages)
            self.storages.append([buffer.role, buffer.name, encode_dim(buffer.size), self.locate(buffer)])
        return self._numbers[buffer]

    def locate(self, buffer: Buffer) -> Json:
        """The number of a constant; an offset in the arena, or the number of an arena slot in a list; else None."""
        if buffer.content is not None:
            if (place := self.files.find(buffer.content)) is not None:
                self.mapped.append([*place, buffer.content.nbytes])
                return -len(self.mapped)
            self.constants.append(buffer.content)
            return len(self.constants) - 1
        if buffer.role != "arena":
            return None
        slot = self.plan.slot_of.get(buffer)
        return self.plan.offsets[buffer] if slot is None else [slot]

    def tensor(self, tensor: TensorView) -> Json:
        start = [self.buffer(tensor.buffer), encode_dim(tensor.offset)]
        return [int(tensor.dtype), encode_dims(tensor.shape), encode_dims(tensor.strides), *start]

    def base(self, base: RelocationBase) -> Json:
        """A base address: the number of a buffer in a list, or the fields of a count; None for a kernel, which is not linked yet."""
        if isinstance(base, CachedCount):
            return encode_count(base)
        return None if isinstance(base, Kernel) else [self.buffer(base)]

    def encode_memory(self) -> dict[str, Json]:
        """The part of a document that describes the arena and the buffers encoded so far."""
        plan, sizes = self.plan, [constant.nbytes for constant in self.constants]
        return {
            "arena": plan.size,
            "arena_slots": [
                encode_dims(tuple(tenant.size for tenant in slot.buffers)) for slot in plan.slots
            ],
            "storages": self.storages,
            CONSTANTS: [[*pair] for pair in zip(aligned_offsets(sizes), sizes, strict=True)],
            "mapped": self.mapped,
        }

    def encode_keys(self) -> dict[str, Json]:
        """The numbers of the large lazy constants by their keys: a specialized program of the model may have the same ones."""
        keys = (
            constant_key(c, self.files.name_of)
            if isinstance(c, LazyConstant) and c.nbytes >= MIN_BYTES
            else None
            for c in self.constants
        )
        return {key: number for number, key in enumerate(keys) if key is not None}


class TensorDecoder:
    """Decodes tensors of a document.

    symbols: the symbols of which the sizes of the program may consist.
    files: the other files that have constants.
    """

    def __init__(
        self,
        document: Mapping[str, Json],
        sections: Mapping[str, memoryview],
        symbols: Collection[str],
        files: ConstantFiles,
    ) -> None:
        self.document, self.sections, self.symbols = document, sections, frozenset(symbols)
        self.files = files
        self.checked_dims: set[Expr] = set()
        self.constants = self.constant_arrays()
        self.mapped = self.mapped_arrays()
        self.buffers = [self.buffer(entry) for entry in expect_list(document["storages"])]

    def constant_arrays(self) -> list[NDArray[np.uint8]]:
        """The constants, as views of the mapped file."""
        data = self.sections[CONSTANTS]
        constants = []
        for entry in expect_list(self.document[CONSTANTS]):
            start, size = (expect_integer(number, 1 << 62) for number in expect_list(entry, 2))
            require(size == 0 or start + size <= len(data), "a constant ends after the file")
            constants.append(np.frombuffer(data[start : start + size], np.uint8))
        return constants

    def mapped_arrays(self) -> list[NDArray[np.uint8]]:
        """The constants in other files; raises OSError if one of the files is gone or was changed."""
        constants = []
        for entry in expect_list(self.document["mapped"]):
            name, offset, length = expect_list(entry, 3)
            start, size = expect_integer(offset, 1 << 62), expect_integer(length, 1 << 62)
            data = self.files.map(expect_string(name))
            require(start + size <= len(data), "a constant ends after the file that has it")
            constants.append(np.frombuffer(data[start : start + size], np.uint8))
        return constants

    def packed(self) -> dict[str, NDArray[np.uint8]]:
        """The lazy constants of the program by their keys."""
        numbers = expect_object(self.document["keys"]).items()
        return {key: self.constants[expect_integer(n, len(self.constants) - 1)] for key, n in numbers}

    def constant(self, where: Json) -> NDArray[np.uint8]:
        """The constant with a number."""
        if isinstance(where, int) and where < 0:
            return self.mapped[expect_integer(-1 - where, len(self.mapped) - 1)]
        return self.constants[expect_integer(where, len(self.constants) - 1)]

    def buffer(self, entry: Json) -> Buffer:
        role, name, size, where = expect_list(entry, 4)
        require(expect_string(role) in BUFFER_ROLES, f"unknown role {role} of a buffer")
        data = self.constant(where) if role == "constant" else None
        byte_size = decode_dim(size)
        self.check_dims(byte_size)
        return Buffer(cast(BufferRole, role), byte_size, expect_string(name), data)

    def tensor(self, entry: Json) -> TensorView:
        dtype, shape, strides, number, offset = expect_list(entry, 5)
        dims, steps, first = decode_dims(shape), decode_dims(strides), decode_dim(offset)
        require(len(dims) == len(steps), "a tensor must have as many strides as dims")
        self.check_dims(*dims, *steps, first)
        buffer = self.buffers[expect_integer(number, len(self.buffers) - 1)]
        return TensorView(DataType.from_number(expect_integer(dtype)), dims, steps, buffer, first)

    def check_dims(self, *dims: Known) -> None:
        """Raises DecodeError for a dim that the sizes of the program do not determine."""
        for dim in dims:
            if not isinstance(dim, int) and dim not in self.checked_dims:
                is_known = dim.symbols() <= self.symbols and not has_opaque_part(dim)
                require(is_known, f"sizes do not determine {dim}")
                self.checked_dims.add(dim)

    def base(self, entry: Json) -> Buffer | CachedCount | int:
        if isinstance(entry, list) and len(entry) > 1:
            return decode_count(entry)
        if isinstance(entry, list):
            return self.buffers[expect_integer(expect_list(entry, 1)[0], len(self.buffers) - 1)]
        return expect_integer(entry, len(self.sections["code"]) - 1)

    def plan(self) -> MemoryPlan:
        """The locations of buffers in the arena: a fixed offset, or the number of a slot of run-time size."""
        total = expect_integer(self.document["arena"], 1 << 62)
        slots = [decode_dims(entry) for entry in expect_list(self.document["arena_slots"])]
        self.check_dims(*(size for sizes in slots for size in sizes))
        offsets: dict[Buffer, int] = {}
        slot_of: dict[Buffer, int] = {}
        for buffer, entry in zip(self.buffers, expect_list(self.document["storages"]), strict=True):
            where = expect_list(entry, 4)[3]
            if buffer.role == "arena" and isinstance(where, list):
                slot_of[buffer] = expect_integer(expect_list(where, 1)[0], len(slots) - 1)
            elif buffer.role == "arena":
                offsets[buffer] = expect_integer(where, total)
                require(
                    isinstance(buffer.size, int) and offsets[buffer] + buffer.size <= total,
                    "the arena is too small",
                )
        tenants = tuple(ArenaSlot([Buffer("arena", size, "") for size in sizes]) for sizes in slots)
        return MemoryPlan(live_ranges=(), offsets=offsets, size=total, slots=tenants, slot_of=slot_of)


def encode_slots(encoding: Encoding) -> dict[str, bytes]:
    """The sections of a program's slots: their values (0 for those that depend on input sizes), their base indices, and the
    indices of those that depend on input sizes."""
    fixed = [value if isinstance(value, int) else 0 for value in encoding.values]
    varying = [i for i, value in enumerate(encoding.values) if not isinstance(value, int)]
    arrays = {"words": fixed, "bases": encoding.bases, "varying": varying}
    return {name: np.array(values, "<i8").tobytes() for name, values in arrays.items()}


def decode_slots(sections: Mapping[str, memoryview], name: str) -> ImageSlots:
    """The numbers in a section of slots."""
    data = sections[name]
    require(len(data) % POINTER_BYTES == 0, f"the section {name!r} has a part of a slot")
    return np.frombuffer(data, "<i8")


def is_within(numbers: ImageSlots, end: int) -> bool:
    return bool(((numbers >= 0) & (numbers < end)).all())
