"""A program as the document and the sections of a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sardonyx._src.compile import entry
from sardonyx._src.compile.layout import Layout, laid_out
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.pending import Pending, bytes_of
from sardonyx._src.compile.plan import Plan, planned
from sardonyx._src.compile.program import Action, Collect, HostCall, Program
from sardonyx._src.compile.saved import container
from sardonyx._src.compile.saved.code import Code
from sardonyx._src.compile.saved.container import Constant, Json
from sardonyx._src.compile.saved.dims import dim_to, dims_to
from sardonyx._src.compile.saved.features import machine
from sardonyx._src.compile.saved.reading import protocol
from sardonyx._src.compile.saved.remnant import remnant
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Storage, Tensor
from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.types_proto import type_to
from sardonyx._src.ir.graph import Model, Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.proto.binary import encode


def write(path: Path, model: Model, program: Program, target: Target, fields: entry.Fields) -> None:
    """Compiles a program of a model into a file; `fields` are those of arrays in memory.

    Raises SardonyxError where this cannot be done.
    """
    if machine() is None:
        raise SardonyxError("programs are saved under Linux, on x86-64 or AArch64")
    plan = planned(program)
    words = laid_out(program, plan)
    code = Code(program, words, target, fields)
    document, sections, constants = parts(model, program, plan, words)

    def rest() -> container.Rest:
        of_code, image = code.made(document["others"])
        return {**document, **of_code}, {**sections, "code": image}

    container.write(path, constants, rest)


def parts(
    model: Model, program: Program, plan: Plan, words: Layout
) -> tuple[dict[str, Json], dict[str, bytes], list[Constant]]:
    """The document of a program and its sections, less the code, and its constants."""
    left, calls = remnant(program)
    writer = Writer(plan)
    document: dict[str, Json] = {
        "machine": machine(),
        "protocol": protocol(),
        "interface": interface(model),
        "lengths": [[name, *place] for name, place in program.sizes.items()],
        "others": [writer.other(one) for one in words.others],
        "actions": [writer.action(one, calls) for one in program.actions],
        "inputs": [[v.name, writer.tensor(t)] for v, t in program.inputs.items()],
        "outputs": [[v.name, None if t is None else writer.tensor(t)] for v, t in program.outputs.items()],
        "fed": len(program.model.graph.inputs),
        "arena": plan.size,
        "arena_slots": [dims_to(tuple(tenant.size for tenant in slot.tenants)) for slot in plan.slots],
    }
    document["storages"] = writer.storages
    sized = [one.nbytes for one in writer.constants]
    document["constants"] = [[*pair] for pair in zip(container.places(sized), sized, strict=True)]
    sections = {"model": encode(left), **words_of(words)}
    return document, sections, [(one.nbytes, bytes_of(one)) for one in writer.constants]


def interface(model: Model) -> Json:
    """What callers see: inputs without defaults, and outputs, each a name and the record of its type in hex."""
    inputs = [v for v in model.graph.inputs if v.initializer is None]
    return {
        "ir_version": model.ir_version,
        "inputs": [port(v) for v in inputs],
        "outputs": [port(v) for v in model.graph.outputs],
        "has_defaults": len(inputs) < len(model.graph.inputs),
    }


def port(value: Value) -> Json:
    return [value.name, None if value.type is None else encode(type_to(value.type)).hex()]


def words_of(words: Layout) -> dict[str, bytes]:
    """The words of a program as they are before it runs, their bases, and which of them depend on sizes."""
    fixed = [value if isinstance(value, int) else 0 for value in words.values]
    varying = [i for i, value in enumerate(words.values) if not isinstance(value, int)]
    found = {"words": fixed, "bases": words.bases, "varying": varying}
    return {name: np.array(values, "<i8").tobytes() for name, values in found.items()}


class Writer:
    """Tensors and what they lie in, each storage by its number."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.storages: list[Json] = []
        self.constants: list[Array | Pending] = []
        self._numbers: dict[Storage, int] = {}

    def storage(self, one: Storage) -> int:
        if one not in self._numbers:
            self._numbers[one] = len(self.storages)
            self.storages.append([one.role, one.name, dim_to(one.size), self.place(one)])
        return self._numbers[one]

    def place(self, one: Storage) -> Json:
        """Of constants their number, in the arena the offset or, in a list, the slot."""
        if one.content is not None:
            self.constants.append(one.content)
            return len(self.constants) - 1
        if one.role != "arena":
            return None
        slot = self.plan.slot_of.get(one)
        return self.plan.offsets[one] if slot is None else [slot]

    def tensor(self, tensor: Tensor) -> Json:
        place = [self.storage(tensor.storage), dim_to(tensor.offset)]
        return [int(tensor.dtype), dims_to(tensor.shape), dims_to(tensor.strides), *place]

    def other(self, base: Storage | Kernel) -> Json:
        """A base of words: in a list the number of a storage; None for a kernel, whose place is not known yet."""
        return None if isinstance(base, Kernel) else [self.storage(base)]

    def action(self, action: Action, calls: Mapping[Node, int]) -> Json:
        match action:
            case Step():
                return action.kernel.key
            case HostCall():
                return [calls[action.node], [[v.name, self.tensor(t)] for v, t in action.takes.items()]]
            case Collect():
                buffers: Json = [[v.name, self.tensor(t)] for v, t in action.buffers.items()]
                return [buffers, self.tensor(action.turns), action.is_last]
        return [action.value.name, self.tensor(action.tensor)]
