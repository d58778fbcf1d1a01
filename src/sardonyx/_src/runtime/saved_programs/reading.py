"""Decodes a saved program into a `ProgramImage`, which contains everything except addresses: these depend on the process.

`writing.py` encodes what is decoded here, in the same order and under the same names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.compile.codegen import Target, atomics
from sardonyx._src.compile.executor import fast_entry, pool_layout, scheduling, status, tape
from sardonyx._src.compile.executor.pool_layout import RECORD_SLOTS
from sardonyx._src.compile.linker.system import LIBC_FUNCTIONS
from sardonyx._src.compile.program import EXACT, Buffer, Guard, Kernel, Precision, Step, TensorView
from sardonyx._src.compile.program.encoding import encoding, size_functions
from sardonyx._src.compile.program.encoding.encoding import STATUS_BASE
from sardonyx._src.compile.program.encoding.size_limits import MAX_INT64
from sardonyx._src.compile.program.memory.memory_plan import ArenaSlot, MemoryPlan
from sardonyx._src.compile.program.operands.tensor import BufferRole
from sardonyx._src.compile.program.steps.assumptions import Assumptions, BranchTaken, Observation
from sardonyx._src.compile.program.steps.precision import PRECISIONS
from sardonyx._src.compile.program.steps.program import (
    Action,
    BindSizes,
    CollectScanOutputs,
    CopyIn,
    FallbackOp,
    Program,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import DecodeError
from sardonyx._src.io.loading.load import load
from sardonyx._src.io.regular_files import open_regular
from sardonyx._src.io.serde.types import type_from
from sardonyx._src.ir import Graph, Model, Node, Value
from sardonyx._src.ir.dims import Expr, Known, has_opaque_part
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode
from sardonyx._src.runtime.declarations.inner_declarations import OpenDim, StaticDeclarations
from sardonyx._src.runtime.identity.verified_files import is_verified, record_verified
from sardonyx._src.runtime.saved_programs.container import (
    CONSTANTS,
    Container,
    Json,
    expect_integer,
    expect_list,
    expect_object,
    expect_string,
    name_file,
    read_container,
    require,
)
from sardonyx._src.runtime.saved_programs.dims import decode_dim, decode_dims
from sardonyx._src.runtime.saved_programs.encoded_assumptions import MAX_RANK, decode_assumptions

ImageSlots = NDArray[np.int64]
BUFFER_ROLES = ("arena", "input", "output", "constant", "status")
POINTER_BYTES = 8


@dataclass(frozen=True, slots=True)
class ProgramImage:
    """A decoded program.

    interface: a model with only the inputs and outputs that callers see.
    declarations: the declared sizes of the model's inner values, as far as inference decides them.
    has_defaults: whether the model has additional inputs, which have defaults.
    code: the linked code.
    slots: the offsets in the code that receive addresses of functions of the C library, by name.
    functions: the offsets of functions in the code, by name.
    fixed_slots, base_indices, varying_slots: the slots of the program, as in `LoadedProgram`.
    extra_bases: the base addresses after those that every program has; each is a buffer, or a kernel's offset in the code.
    static_sizes: the bytes of the arena, the bytes of a thread's scratch, and the number of failed guards; None if the
        function `sizes` of the code computes them.
    fields: the memory layout of NumPy's arrays for which `enter` was compiled.
    assumptions: the assumptions for which the program was compiled.
    """

    interface: Model
    declarations: StaticDeclarations
    has_defaults: bool
    program: Program
    plan: MemoryPlan
    code: memoryview
    slots: Mapping[str, int]
    functions: Mapping[str, int]
    fixed_slots: ImageSlots
    base_indices: ImageSlots
    varying_slots: ImageSlots
    extra_bases: tuple[Buffer | int, ...]
    static_sizes: tuple[int, int, int] | None
    fields: fast_entry.ArrayFields
    assumptions: Assumptions


def protocol_digest() -> str:
    """A digest of the files that define the interface between native code and this package."""
    digest = hashlib.sha256()
    for module in (atomics, fast_entry, encoding, pool_layout, scheduling, size_functions, status, tape):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()


def open_container(
    path: Path, open_file: Callable[[Path], BinaryIO] = open_regular, read_up_to: int = 0
) -> tuple[Container, list[str], str, str]:
    """A verified file, and its requirements: the features of the processor, the machine, and the protocol digest."""
    container = read_container(path, open_file, read_up_to)
    with name_file(path):
        if not is_verified(container.stamp):
            container.verify_constants()
            record_verified(container.stamp)
        document = container.document
        features = [expect_string(name) for name in expect_list(document["features"])]
        return container, features, expect_string(document["machine"]), expect_string(document["protocol"])


def require_entry(path: Path, container: Container) -> None:
    """Raises DecodeError unless a cache entry has the name that it states: a renamed entry belongs to another model."""
    entry = container.document.get("entry")
    if entry != path.stem:
        raise DecodeError(f"it is the entry {entry!r}", offset=0, source=str(path))


def read_image(path: Path, container: Container) -> ProgramImage:
    """The program in a file; raises DecodeError for one that `writing` cannot have written."""
    with name_file(path):
        return ImageReader(container).read()


class ImageReader:
    """Decodes one document."""

    def __init__(self, container: Container) -> None:
        self.document, self.sections = container.document, container.sections
        self.model = load(bytes(self.sections["model"]))
        graph = self.model.graph
        computed = [v for node in graph.nodes for v in node.outputs]
        self.values = {v.name: v for v in (*graph.inputs, *graph.initializers.values(), *computed)}
        self.drop_native_values()
        self.lengths = {
            expect_string(name): (expect_string(source), expect_integer(axis, 64))
            for name, source, axis in (
                expect_list(entry, 3) for entry in expect_list(self.document["lengths"])
            )
        }
        bound = expect_list(self.document["data_dependent_sizes"])
        self.symbols = {*self.lengths, *map(expect_string, bound)}
        self.checked_dims: set[Expr] = set()
        self.constants = self.constant_arrays()
        self.buffers = [self.buffer(entry) for entry in expect_list(self.document["storages"])]

    def read(self) -> ProgramImage:
        document, code = self.document, self.sections["code"]
        actions = [self.action(entry) for entry in expect_list(document["actions"])]
        functions = {
            name: expect_integer(offset, len(code))
            for name, offset in expect_object(document["functions"]).items()
        }
        require({"run", "work", "enter"} <= functions.keys(), "the file has no run loop")
        size = document["size"]
        if not isinstance(size, list):
            functions["sizes"] = expect_integer(size, len(code))
        slots = {
            name: expect_integer(offset, len(code) - POINTER_BYTES)
            for name, offset in expect_object(document["slots"]).items()
        }
        require(slots.keys() <= set(LIBC_FUNCTIONS), f"code may not call one of {sorted(slots)}")
        fixed_slots, base_indices, varying = (self.numbers(name) for name in ("words", "bases", "varying"))
        extra_bases = tuple(self.base(entry) for entry in expect_list(document["others"]))
        count = len(fixed_slots)
        require(count == len(base_indices) and count >= RECORD_SLOTS * len(actions), "slots are missing")
        require(is_within(base_indices, STATUS_BASE + 1 + len(extra_bases)), "a slot has no base")
        require(is_within(varying, count), "a varying slot is out of range")
        require(len(varying) == 0 or not isinstance(size, list), "nothing computes the varying slots")
        return ProgramImage(
            interface=self.interface(),
            declarations=decode_declarations(document["declarations"]),
            has_defaults=expect_object(document["interface"])["has_defaults"] is True,
            program=self.program(actions),
            plan=self.plan(),
            code=code,
            slots=slots,
            functions=functions,
            fixed_slots=fixed_slots,
            base_indices=base_indices,
            varying_slots=varying,
            extra_bases=extra_bases,
            static_sizes=decode_static_sizes(size) if isinstance(size, list) else None,
            fields=fast_entry.ArrayFields(
                *(expect_integer(offset, 64) for offset in expect_list(document["fields"], 6))
            ),
            assumptions=decode_assumptions(document["assumptions"]),
        )

    # --- the model ---------------------------------------------------------------------------

    def drop_native_values(self) -> None:
        """Removes the inputs that stand for results of kernel steps, which come after the inputs of the program."""
        graph = self.model.graph
        for value in graph.inputs[expect_integer(self.document["fed"], len(graph.inputs)) :]:
            graph.remove_input(value)

    def interface(self) -> Model:
        interface = expect_object(self.document["interface"])
        version = expect_integer(interface["ir_version"])
        graph = Graph("saved", [decode_port(entry, version) for entry in expect_list(interface["inputs"])])
        graph.outputs = [decode_port(entry, version) for entry in expect_list(interface["outputs"])]
        return Model(graph, ir_version=version, opset_imports={})

    def value(self, name: Json) -> Value:
        value = self.values.get(expect_string(name))
        require(value is not None, f"unknown value {name!r}")
        return cast(Value, value)

    # --- the program -------------------------------------------------------------------------

    def program(self, actions: list[Action]) -> Program:
        inputs, outputs = expect_list(self.document["inputs"]), expect_list(self.document["outputs"])
        graph = self.model.graph
        input_tensors = {
            self.value(name): self.tensor(t) for name, t in (expect_list(entry, 2) for entry in inputs)
        }
        require(input_tensors.keys() <= set(graph.inputs), "a tensor of an unknown input")
        output_tensors = {
            self.value(name): None if t is None else self.tensor(t)
            for name, t in (expect_list(entry, 2) for entry in outputs)
        }
        require(output_tensors.keys() == set(graph.outputs), "the outputs are not those of the model")
        bindings = (action for action in actions if isinstance(action, BindSizes))
        bound = {name for action in bindings for name in action.symbols.values()}
        require(bound == self.symbols - self.lengths.keys(), "nothing binds a size")
        require(
            {source for source, _ in self.lengths.values()} <= {v.name for v in graph.inputs},
            "a size of an unknown input",
        )
        status_view = TensorView(
            DataType.INT64, (1,), (1,), Buffer("status", status.STATUS_SLOTS * status.SLOT_BYTES, "status")
        )
        return Program(
            self.model,
            actions,
            self.lengths,
            input_tensors,
            output_tensors,
            status_view,
            self.guards(),
            assumed_branches=self.assumed_branches({value.name for value in output_tensors}),
            observations=self.observations(),
            parameters=tuple(map(expect_string, expect_list(self.document["parameters"]))),
            precision=self.precision(),
        )

    def precision(self) -> Precision:
        stated = self.document["precision"]
        known = next((precision for precision in PRECISIONS if precision == stated), None)
        require(known is not None, f"unknown precision {stated!r}")
        return known or EXACT

    def observations(self) -> dict[Node, Observation]:
        """The branches and ranks that runs can observe, by the nodes of fallback ops."""
        nodes = self.model.graph.nodes
        entries = (expect_list(entry, 3) for entry in expect_list(self.document["observations"]))
        return {
            nodes[expect_integer(number, len(nodes) - 1)]: Observation(
                None if condition is None else self.value(condition),
                tuple(map(self.value, expect_list(names))),
            )
            for number, names, condition in entries
        }

    def assumed_branches(self, outputs: Set[str]) -> dict[str, BranchTaken]:
        """The outputs that are conditions of branches, by name, with the branch that each must choose."""
        entries = (expect_list(entry, 3) for entry in expect_list(self.document["assumed_branches"]))
        branches = {
            expect_string(name): BranchTaken(expect_string(output), is_then=is_then is True)
            for name, output, is_then in entries
        }
        require(branches.keys() <= outputs, "a condition is no output")
        return branches

    def guards(self) -> tuple[Guard, ...]:
        pairs = (expect_list(entry, 2) for entry in expect_list(self.document["guards"]))
        guards = tuple(Guard(decode_dim(left), decode_dim(right)) for left, right in pairs)
        self.check_dims(*(dim for guard in guards for dim in guard))
        return guards

    def action(self, entry: Json) -> Action:
        """Decodes an action.  Its kind follows from the types of its elements:

        - kernel step: the key of its kernel
        - fallback op: index of its node, native inputs
        - copy: name of its value, tensor
        - binding of sizes: name of its value, rank, symbols of its axes, count
        - collection of scan outputs: buffers, number of iterations, whether the loop has ended
        """
        if isinstance(entry, str):
            return Step(Kernel(entry, no_source), (), 0, (), ())
        first, second, *rest = expect_list(entry)
        if isinstance(first, list):
            pairs = (expect_list(pair, 2) for pair in first)
            buffers = {self.value(name): self.tensor(tensor) for name, tensor in pairs}
            require(len(rest) == 1 and bool(buffers), "scan outputs are incomplete")
            return CollectScanOutputs(buffers, self.tensor(second), is_last=rest[0] is True)
        if isinstance(first, str) and isinstance(second, int):
            require(len(rest) == 2, "a binding of sizes is incomplete")
            return self.binding(first, expect_integer(second, MAX_RANK), rest[0], rest[1])
        require(not rest, "an action is too long")
        if isinstance(first, str):
            return CopyIn(self.value(first), self.tensor(second))
        node = self.model.graph.nodes[expect_integer(first, len(self.model.graph.nodes) - 1)]
        pairs = (expect_list(pair, 2) for pair in expect_list(second))
        return FallbackOp(node, {self.value(name): self.tensor(tensor) for name, tensor in pairs})

    def binding(self, name: str, rank: int, entry: Json, count: Json) -> BindSizes:
        pairs = (expect_list(pair, 2) for pair in expect_list(entry))
        symbols = {expect_integer(axis, rank - 1): expect_string(symbol) for axis, symbol in pairs}
        counts = [self.tensor(tensor) for tensor in expect_list(count)]
        require(len(counts) <= 1, "a binding of sizes has several counts")
        is_count = all(
            c.dtype is DataType.INT64 and c.shape == (1,) and c.buffer.role == "arena" for c in counts
        )
        require(is_count, "the count of a binding of sizes must be one int64 in the arena")
        return BindSizes(self.value(name), rank, symbols, counts[0] if counts else None)

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

    def buffer(self, entry: Json) -> Buffer:
        role, name, size, where = expect_list(entry, 4)
        require(expect_string(role) in BUFFER_ROLES, f"unknown role {role} of a buffer")
        data = self.constants[expect_integer(where, len(self.constants) - 1)] if role == "constant" else None
        byte_size = decode_dim(size)
        self.check_dims(byte_size)
        return Buffer(cast(BufferRole, role), byte_size, expect_string(name), data)

    def constant_arrays(self) -> list[NDArray[np.uint8]]:
        """The constants, as views of the mapped file."""
        data = self.sections[CONSTANTS]
        constants = []
        for entry in expect_list(self.document[CONSTANTS]):
            start, size = (expect_integer(number, 1 << 62) for number in expect_list(entry, 2))
            require(size == 0 or start + size <= len(data), "a constant ends after the file")
            constants.append(np.frombuffer(data[start : start + size], np.uint8))
        return constants

    # --- memory and slots --------------------------------------------------------------------

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

    def base(self, entry: Json) -> Buffer | int:
        if isinstance(entry, list):
            return self.buffers[expect_integer(expect_list(entry, 1)[0], len(self.buffers) - 1)]
        return expect_integer(entry, len(self.sections["code"]) - 1)

    def numbers(self, name: str) -> ImageSlots:
        data = self.sections[name]
        require(len(data) % POINTER_BYTES == 0, f"the section {name!r} has a part of a slot")
        return np.frombuffer(data, "<i8")


def no_source(name: str, target: Target) -> str:
    raise AssertionError("kernels of saved programs have no source")


def decode_port(entry: Json, ir_version: int) -> Value:
    name, type = expect_list(entry, 2)
    record = None if type is None else decode(bytes.fromhex(expect_string(type)), m.TypeProto)
    return Value(expect_string(name), type_from(record, expect_string(name), ir_version))


def decode_declarations(entry: Json) -> StaticDeclarations:
    """Decodes a list of the fields of `StaticDeclarations`, in their order."""
    hold, contradictions, *dims = expect_list(entry, 4)
    pairs = [expect_list(pair, 2) for pair in expect_list(contradictions)]
    return StaticDeclarations(
        hold is True,
        tuple((expect_string(where), expect_string(why)) for where, why in pairs),
        *(tuple(map(decode_open_dim, expect_list(group))) for group in dims),
    )


def decode_open_dim(entry: Json) -> OpenDim:
    location, type, declared, actual = expect_list(entry, 4)
    return OpenDim(expect_string(location), expect_string(type), decode_dim(declared), decode_dim(actual))


def decode_static_sizes(entry: list[Json]) -> tuple[int, int, int]:
    arena, scratch, faults = (expect_integer(number, MAX_INT64) for number in expect_list(entry, 3))
    return arena, scratch, faults


def is_within(numbers: ImageSlots, end: int) -> bool:
    return bool(((numbers >= 0) & (numbers < end)).all())
