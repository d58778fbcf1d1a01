"""The program that a file holds: everything of it but the addresses, which the process has to give."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.compile import atomics, entry, layout, pool_words, sharing, sizes, status, tape
from sardonyx._src.compile.layout import STATUS
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.plan import Plan, Slot
from sardonyx._src.compile.pool_words import RECORD
from sardonyx._src.compile.program import Action, Collect, HostCall, Program, Upload
from sardonyx._src.compile.saved.container import (
    CONSTANTS,
    Container,
    Json,
    must,
    naming,
    read,
    the_list,
    the_map,
    the_number,
    the_text,
)
from sardonyx._src.compile.saved.dims import dim_from, dims_from
from sardonyx._src.compile.saved.system import SYSTEM
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Role, Storage, Tensor
from sardonyx._src.dtypes import DataType
from sardonyx._src.io.load import load
from sardonyx._src.io.types_proto import type_from
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ir.graph import Graph, Model, Value
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode

Words = NDArray[np.int64]
ROLES = ("arena", "input", "output", "constant", "status")
SLOT = 8  # bytes


@dataclass(frozen=True, slots=True)
class Saved:
    """A program and its words.

    interface: a model of nothing but inputs and outputs, as callers see them.  has_defaults: whether the model has inputs
    besides, which need not be fed.  code: what is to be put where it can
    run; slots: where in it the addresses of the system's functions go; functions: offsets in it.
    others: for each base of the words besides the common ones a storage, or the offset of a kernel.
    size: bytes of the arena, of a thread's scratch, and faults; or None if the function `sizes` works them out.
    """

    interface: Model
    has_defaults: bool
    program: Program
    plan: Plan
    code: memoryview
    slots: Mapping[str, int]
    functions: Mapping[str, int]
    words: Words
    base_of: Words
    varying: Words
    others: tuple[Storage | int, ...]
    size: tuple[int, int, int] | None
    fields: entry.Fields


def protocol() -> str:
    """What code and the runtime agree on, hashed: the files that say it."""
    digest = hashlib.sha256()
    for module in (atomics, entry, layout, pool_words, sharing, sizes, status, tape):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()


def opened(path: Path) -> tuple[Container, list[str], str, str]:
    """A file, and what it asks of the process: features of the processor, its kind, and what the runtime agrees on."""
    container = read(path)
    with naming(path):
        document = container.document
        features = [the_text(one) for one in the_list(document["features"])]
        return container, features, the_text(document["machine"]), the_text(document["protocol"])


def saved(path: Path, container: Container) -> Saved:
    """The program in a file; raises DecodeError for one that no writer of ours has made."""
    with naming(path):
        return Reader(container).saved()


class Reader:
    """A document on its way to a program."""

    def __init__(self, container: Container) -> None:
        self.document, self.sections = container.document, container.sections
        self.model = self.remnant()
        graph = self.model.graph
        made = [v for node in graph.nodes for v in node.outputs]
        self.values = {v.name: v for v in (*graph.inputs, *graph.initializers.values(), *made)}
        self.keep_inputs()
        self.lengths = {
            the_text(name): (the_text(of), the_number(axis, 64))
            for name, of, axis in (the_list(one, 3) for one in the_list(self.document["lengths"]))
        }
        self.held: set[Expr] = set()  # to the lengths
        self.constants = self.constant_arrays()
        self.storages = [self.storage(one) for one in the_list(self.document["storages"])]

    def saved(self) -> Saved:
        document, code = self.document, self.sections["code"]
        actions = [self.action(one) for one in the_list(document["actions"])]
        functions = {name: the_number(at, len(code)) for name, at in the_map(document["functions"]).items()}
        must({"run", "work", "enter"} <= functions.keys(), "the file has no runner")
        size = document["size"]
        if not isinstance(size, list):
            functions["sizes"] = the_number(size, len(code))
        slots = {name: the_number(at, len(code) - SLOT) for name, at in the_map(document["slots"]).items()}
        must(slots.keys() <= set(SYSTEM), f"one of {sorted(slots)} is no function that code may call")
        words, base_of, varying = (self.numbers(name) for name in ("words", "bases", "varying"))
        others = tuple(self.other(one) for one in the_list(document["others"]))
        must(len(words) == len(base_of) and len(words) >= RECORD * len(actions), "words are missing")
        must(is_within(base_of, STATUS + 1 + len(others)), "a word has no base")
        must(is_within(varying, len(words)), "a word that varies is not there")
        must(len(varying) == 0 or not isinstance(size, list), "nothing works out what varies")
        return Saved(
            interface=self.interface(),
            has_defaults=the_map(document["interface"])["has_defaults"] is True,
            program=self.program(actions),
            plan=self.plan(),
            code=code,
            slots=slots,
            functions=functions,
            words=words,
            base_of=base_of,
            varying=varying,
            others=others,
            size=three(size) if isinstance(size, list) else None,
            fields=entry.Fields(*(the_number(one, 64) for one in the_list(document["fields"], 6))),
        )

    # --- the model ---------------------------------------------------------------------------

    def remnant(self) -> Model:
        return load(bytes(self.sections["model"]))

    def keep_inputs(self) -> None:
        """Leaves the model the inputs of the program; the others are values that steps make."""
        graph = self.model.graph
        for value in graph.inputs[the_number(self.document["fed"], len(graph.inputs)) :]:
            graph.remove_input(value)

    def interface(self) -> Model:
        found = the_map(self.document["interface"])
        graph = Graph("saved", [port(one) for one in the_list(found["inputs"])])
        graph.outputs = [port(one) for one in the_list(found["outputs"])]
        return Model(graph, ir_version=the_number(found["ir_version"]), opset_imports={})

    def value(self, name: Json) -> Value:
        found = self.values.get(the_text(name))
        must(found is not None, f"there is no value {name!r}")
        return cast(Value, found)

    # --- the program -------------------------------------------------------------------------

    def program(self, actions: list[Action]) -> Program:
        inputs, outputs = the_list(self.document["inputs"]), the_list(self.document["outputs"])
        graph = self.model.graph
        found = {self.value(name): self.tensor(t) for name, t in (the_list(one, 2) for one in inputs)}
        must(found.keys() <= set(graph.inputs), "an input is not the program's")
        handed_out = {
            self.value(name): None if t is None else self.tensor(t)
            for name, t in (the_list(one, 2) for one in outputs)
        }
        must(handed_out.keys() == set(graph.outputs), "the outputs are others than the model's")
        must(
            {of for of, _ in self.lengths.values()} <= {v.name for v in graph.inputs},
            "a length is of no input",
        )
        told = Tensor(DataType.INT64, (1,), (1,), Storage("status", status.WORDS * status.WORD, "status"))
        return Program(self.model, actions, self.lengths, found, handed_out, told)

    def action(self, found: Json) -> Action:
        """A kernel's key; or a node's number and what it takes; or a value's name and its tensor; or buffers, turns and
        whether they are the last."""
        if isinstance(found, str):
            return Step(Kernel(found, no_source), (), 0, (), ())
        first, second, *rest = the_list(found)
        if isinstance(first, list):
            pairs = (the_list(one, 2) for one in first)
            buffers = {self.value(name): self.tensor(tensor) for name, tensor in pairs}
            must(len(rest) == 1 and bool(buffers), "slices are not whole")
            return Collect(buffers, self.tensor(second), is_last=rest[0] is True)
        must(not rest, "an action is too long")
        if isinstance(first, str):
            return Upload(self.value(first), self.tensor(second))
        node = self.model.graph.nodes[the_number(first, len(self.model.graph.nodes) - 1)]
        pairs = (the_list(one, 2) for one in the_list(second))
        return HostCall(node, {self.value(name): self.tensor(tensor) for name, tensor in pairs})

    def tensor(self, found: Json) -> Tensor:
        dtype, shape, strides, number, offset = the_list(found, 5)
        dims, steps, first = dims_from(shape), dims_from(strides), dim_from(offset)
        must(len(dims) == len(steps), "a tensor has dims without strides")
        self.hold(*dims, *steps, first)
        storage = self.storages[the_number(number, len(self.storages) - 1)]
        return Tensor(DataType.numbered(the_number(dtype)), dims, steps, storage, first)

    def hold(self, *dims: Known) -> None:
        """Holds dims to the lengths that runs know."""
        for dim in dims:
            if not isinstance(dim, int) and dim not in self.held:
                is_known = dim.symbols() <= self.lengths.keys() and dim.substitute({}) is not None
                must(is_known, f"{dim} depends on what no run knows")
                self.held.add(dim)

    def storage(self, found: Json) -> Storage:
        role, name, size, place = the_list(found, 4)
        must(the_text(role) in ROLES, f"{role} is no role of a storage")
        data = self.constants[the_number(place, len(self.constants) - 1)] if role == "constant" else None
        known = dim_from(size)
        self.hold(known)
        return Storage(cast(Role, role), known, the_text(name), data)

    def constant_arrays(self) -> list[NDArray[np.uint8]]:
        """Views of the mapped file."""
        data = self.sections[CONSTANTS]
        found = []
        for one in the_list(self.document[CONSTANTS]):
            start, size = (the_number(number, len(data)) for number in the_list(one, 2))
            must(start + size <= len(data), "a constant is not in the file")
            found.append(np.frombuffer(data[start : start + size], np.uint8))
        return found

    # --- its words ---------------------------------------------------------------------------

    def plan(self) -> Plan:
        """Where in the arena those storages lie that the host looks at."""
        total = the_number(self.document["arena"], 1 << 62)
        slots = [dims_from(one) for one in the_list(self.document["arena_slots"])]
        self.hold(*(size for sizes in slots for size in sizes))
        offsets: dict[Storage, int] = {}
        slot_of: dict[Storage, int] = {}
        for storage, found in zip(self.storages, the_list(self.document["storages"]), strict=True):
            place = the_list(found, 4)[3]
            if storage.role == "arena" and isinstance(place, list):
                slot_of[storage] = the_number(the_list(place, 1)[0], len(slots) - 1)
            elif storage.role == "arena":
                offsets[storage] = the_number(place, total)
                must(
                    isinstance(storage.size, int) and offsets[storage] + storage.size <= total,
                    "the arena is too small",
                )
        tenants = tuple(Slot([Storage("arena", size, "") for size in sizes]) for sizes in slots)
        return Plan(intervals=(), offsets=offsets, size=total, slots=tenants, slot_of=slot_of)

    def other(self, found: Json) -> Storage | int:
        if isinstance(found, list):
            return self.storages[the_number(the_list(found, 1)[0], len(self.storages) - 1)]
        return the_number(found, len(self.sections["code"]) - 1)

    def numbers(self, name: str) -> Words:
        data = self.sections[name]
        must(len(data) % SLOT == 0, f"{name} are no words")
        return np.frombuffer(data, "<i8")


def no_source(name: str, target: Target) -> str:
    raise AssertionError("kernels of saved programs are not compiled")


def port(found: Json) -> Value:
    name, type = the_list(found, 2)
    record = None if type is None else decode(bytes.fromhex(the_text(type)), m.TypeProto)
    return Value(the_text(name), type_from(record, the_text(name)))


def three(found: list[Json]) -> tuple[int, int, int]:
    arena, scratch, faults = (the_number(one, 1 << 62) for one in the_list(found, 3))
    return arena, scratch, faults


def is_within(numbers: Words, end: int) -> bool:
    return bool(((numbers >= 0) & (numbers < end)).all())
