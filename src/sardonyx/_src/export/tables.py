"""The data of a library: the head, the slots of the program with their bases, the alignments of ports, and the weights."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from sardonyx._src.compile.executor import status
from sardonyx._src.compile.llvm.loaded_kernels import symbol_name
from sardonyx._src.compile.program import Buffer, Kernel
from sardonyx._src.compile.program.encoding.encoding import Encoding
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.encoding.size_functions import evaluate_sizes
from sardonyx._src.compile.program.encoding.slot_bases import NO_BASE, STATUS_BASE, RelocationBase
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant, iter_bytes
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.export import layout
from sardonyx._src.export.interface import LibraryInterface
from sardonyx._src.ir import Array
from sardonyx._src.ops.run_values import RunLimits
from sardonyx._src.runtime.limits.cache_shares import choose_level

Place = tuple[int, int]  # the value and the base of a slot


class Weights:
    """The constants of a program, each at a multiple of `layout.ALIGNMENT`.

    offsets: of each constant buffer.  size: of all together.
    """

    def __init__(self, encoding: Encoding) -> None:
        self.offsets: dict[Buffer, int] = {}
        self.size = 0
        for base in encoding.extra_bases:
            if isinstance(base, Buffer) and base.content is not None:
                self.offsets[base] = self.size
                self.size = layout.align(self.size + base.content.nbytes)

    def chunks(self) -> Iterator[bytes | memoryview]:
        """Their bytes in order, zeros between them included; each chunk is valid until the next."""
        for buffer in self.offsets:
            content = buffer.content
            assert content is not None, f"{buffer.name} must have a content"
            yield from chunks_of(content)
            yield bytes(-content.nbytes % layout.ALIGNMENT)


def chunks_of(content: Array | LazyConstant) -> Iterator[memoryview]:
    for chunk in iter_bytes(content):
        yield chunk.cast("B")


@dataclass(frozen=True, slots=True)
class Tables:
    """The data of a library.

    head: everything before the weights.
    weights: the weights that follow; None if the caller passes them.
    arena_bytes: the size of the arena of a run.
    """

    head: bytes
    weights: Weights | None
    arena_bytes: int

    @property
    def size(self) -> int:
        return len(self.head) + (0 if self.weights is None else self.weights.size)

    def chunks(self) -> Iterable[bytes | memoryview]:
        """The bytes in order."""
        yield self.head
        if self.weights is not None:
            yield from self.weights.chunks()


def make_tables(
    executable: Executable,
    interface: LibraryInterface,
    weights: Weights,
    functions: Mapping[str, int],
    *,
    passes_weights: bool,
) -> Tables:
    """The data of a library.

    functions: the offsets of kernels in the code, by symbol.
    passes_weights: whether the caller passes the weights.
    Raises InputError for a model whose sizes contradict one another.
    """
    program, encoding = executable.program, executable.encoding
    places = SlotPlaces(program, encoding, interface, weights, functions).places()
    head = [0] * layout.HEAD_SLOTS
    sizes = arena_sizes(program, encoding, len(places), len(interface.inputs) + len(interface.outputs))
    head[layout.BASES_AT], head[layout.STATUS_AT], head[layout.TENSORS_AT], head[layout.SCRATCH_AT] = sizes[
        :4
    ]
    head[layout.ARENA_BYTES] = sizes[4]
    head[layout.SLOT_COUNT], head[layout.RECORD_COUNT] = len(places), len(program.actions)
    head[layout.INPUT_COUNT], head[layout.OUTPUT_COUNT] = len(interface.inputs), len(interface.outputs)
    limits = RunLimits()
    head[layout.MAX_NODES] = min(limits.nodes, status.UNLIMITED)
    head[layout.MAX_ITERATIONS] = min(limits.iterations, status.UNLIMITED)
    parts = {
        layout.VALUES: np.array([value for value, _ in places], "<i8").tobytes(),
        layout.BASES: np.array([base for _, base in places], "<u2").tobytes(),
        layout.PORTS: np.array(
            [p.alignment for p in (*interface.inputs, *interface.outputs)], "<i8"
        ).tobytes(),
    }
    end = 8 * layout.HEAD_SLOTS
    for slot, part in parts.items():
        head[slot] = end
        end = layout.align(end + len(part))
    head[layout.WEIGHTS] = 0 if passes_weights else end
    body = b"".join(part + bytes(-len(part) % layout.ALIGNMENT) for part in parts.values())
    encoded = struct.pack(f"<{len(head)}q", *head)
    return Tables(encoded + body, None if passes_weights else weights, sizes[4])


def arena_sizes(program: Program, encoding: Encoding, slots: int, ports: int) -> tuple[int, ...]:
    """The offsets of the base addresses, the status block, the tensors and the scratch in the arena, and its size.

    Raises InputError for a model whose sizes contradict one another.
    """
    _, tensors, scratch, faults = evaluate_sizes(program, encoding, ())
    if faults:
        raise InputError(
            f"the sizes of a model must not contradict each other; got {faults} failed guards",
            name="model",
        )
    ends = [0]
    for size in (
        8 * slots,
        8 * (layout.PORT_BASES + ports),
        status.STATUS_SLOTS * status.SLOT_BYTES,
        tensors,
        scratch,
    ):
        ends.append(layout.align(ends[-1] + size))
    return tuple(ends[1:])


class SlotPlaces:
    """The slots of a program as numbers with the bases of a library (`layout`)."""

    def __init__(
        self,
        program: Program,
        encoding: Encoding,
        interface: LibraryInterface,
        weights: Weights,
        functions: Mapping[str, int],
    ) -> None:
        self.encoding, self.weights, self.functions = encoding, weights, functions
        inputs = {value.name: tensor.buffer for value, tensor in program.inputs.items()}
        outputs = {
            value.name: tensor.buffer for value, tensor in program.outputs.items() if tensor is not None
        }
        ports = [inputs.get(port.name) for port in interface.inputs]
        ports += [outputs[port.name] for port in interface.outputs]
        self.ports = {buffer: layout.PORT_BASES + i for i, buffer in enumerate(ports) if buffer is not None}

    def places(self) -> list[Place]:
        extra = {index: self.place(base) for base, index in self.encoding.extra_bases.items()}
        result = []
        for value, base in zip(self.encoding.values, self.encoding.bases, strict=True):
            assert isinstance(value, int), "all sizes are numbers"
            offset, index = (0, base) if base <= STATUS_BASE else extra[base]
            result.append((value + offset, index))
        return result

    def place(self, base: RelocationBase) -> Place:
        """A base of the program as an offset from a base of a library."""
        if isinstance(base, Kernel):
            return self.functions[symbol_name(base)], layout.CODE_BASE
        if isinstance(base, CachedCount):
            return base.in_bytes(choose_level(base.cache, ()).bytes), NO_BASE
        if base.role == "constant":
            return self.weights.offsets[base], layout.WEIGHTS_BASE
        return 0, self.ports[base]
