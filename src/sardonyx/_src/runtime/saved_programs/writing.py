"""Encodes a program as the document and the sections of a saved program (`container.py`), which `reading.py` decodes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.executor import fast_entry
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.compile.program import Buffer, Kernel, Step, TensorView
from sardonyx._src.compile.program.encoding.encoding import Encoding
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.memory.memory_plan import MemoryPlan
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant, iter_bytes
from sardonyx._src.compile.program.steps.assumptions import Assumptions
from sardonyx._src.compile.program.steps.program import Action, BindSizes, CollectScanOutputs, FallbackOp
from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.io.serde.types import type_to
from sardonyx._src.ir import Array, Model, Node, Value
from sardonyx._src.proto.binary import encode
from sardonyx._src.runtime.declarations.inner_declarations import OpenDim, StaticDeclarations
from sardonyx._src.runtime.identity.verified_files import record_verified
from sardonyx._src.runtime.saved_programs import container
from sardonyx._src.runtime.saved_programs.container import ConstantBytes, Json
from sardonyx._src.runtime.saved_programs.dims import encode_dim, encode_dims
from sardonyx._src.runtime.saved_programs.encoded_assumptions import encode_assumptions
from sardonyx._src.runtime.saved_programs.fallback_model import extract_fallback_model
from sardonyx._src.runtime.saved_programs.program_code import ProgramCode
from sardonyx._src.runtime.saved_programs.reading import protocol_digest

ENTRY_MODE, FILE_MODE = 0o600, 0o666  # permissions: only the user may read an entry of the cache


def write_program(
    path: Path,
    interface: Model,
    declarations: StaticDeclarations,
    executable: Executable,
    target: Target,
    fields: fast_entry.ArrayFields,
    *,
    entry: str = "",
    assumptions: Assumptions = (),
) -> None:
    """Writes the program of a model, and its code, into a file.

    interface: a model with the inputs and outputs that callers see.
    declarations: the declared sizes of the model's inner values, as far as inference decides them.
    fields: the memory layout of NumPy's arrays.
    entry: the name of an entry of the cache; "" for any other file.
    assumptions: the assumptions for which the program was compiled.
    Raises SardonyxError on systems other than Linux on x86-64 or AArch64.
    """
    if saved_program_machine() is None:
        raise SardonyxError("saved programs require Linux on x86-64 or AArch64")
    code = ProgramCode(executable, target, fields)  # workers compile while constants are packed and written
    document, sections, constants = encode_parts(executable)
    described = {
        **encode_model(interface, declarations),
        "assumptions": encode_assumptions(assumptions),
        **document,
    }

    def link() -> container.DocumentAndSections:
        code_document, image = code.link_and_describe(document["others"])
        return {"entry": entry, **described, **code_document}, {**sections, "code": image}

    container.write_container(path, constants, link, ENTRY_MODE if entry else FILE_MODE)
    with suppress(OSError):
        record_verified(FileStamp.from_path(os.path.realpath(path)))


def encode_parts(
    executable: Executable,
) -> tuple[dict[str, Json], dict[str, bytes], list[ConstantBytes]]:
    """The document of a program, its sections, and its constants; what describes the model or the code is added elsewhere."""
    program, plan, encoding = executable.program, executable.plan, executable.encoding
    fallback_model, node_numbers = extract_fallback_model(program)
    encoder = TensorEncoder(plan)
    document: dict[str, Json] = {
        "machine": saved_program_machine(),
        "precision": program.precision,
        "protocol": protocol_digest(),
        "lengths": [[name, *source] for name, source in program.sizes.items()],
        "observations": [
            [
                node_numbers[node],
                [value.name for value in observation.outputs],
                None if observation.condition is None else observation.condition.name,
            ]
            for node, observation in program.observations.items()
        ],
        "parameters": list(program.parameters),
        "assumed_branches": [
            [name, branch.output, branch.is_then] for name, branch in program.assumed_branches.items()
        ],
        "data_dependent_sizes": [name for name, stage in program.stages.items() if stage],
        "guards": [[encode_dim(guard.left), encode_dim(guard.right)] for guard in program.guards],
        "others": [encoder.base(base) for base in encoding.extra_bases],
        "actions": [encoder.action(action, node_numbers) for action in program.actions],
        "inputs": [[v.name, encoder.tensor(t)] for v, t in program.inputs.items()],
        "outputs": [[v.name, None if t is None else encoder.tensor(t)] for v, t in program.outputs.items()],
        "fed": len(program.model.graph.inputs),
        "arena": plan.size,
        "arena_slots": [encode_dims(tuple(tenant.size for tenant in slot.buffers)) for slot in plan.slots],
    }
    document["storages"] = encoder.storages
    sizes = [constant.nbytes for constant in encoder.constants]
    document["constants"] = [[*pair] for pair in zip(container.aligned_offsets(sizes), sizes, strict=True)]
    sections = {"model": encode(fallback_model), **encode_slots(encoding)}
    return document, sections, [(constant.nbytes, iter_bytes(constant)) for constant in encoder.constants]


def encode_model(interface: Model, declarations: StaticDeclarations) -> dict[str, Json]:
    """The part of a document that describes the model: its interface and its declarations."""
    contradictions: Json = [[*pair] for pair in declarations.contradictions]
    dims: list[Json] = [
        list(map(encode_open_dim, dims)) for dims in (declarations.open_dims, declarations.conditional_dims)
    ]
    stated: Json = [declarations.hold, contradictions, *dims]
    return {"interface": encode_interface(interface), "declarations": stated}


def encode_open_dim(dim: OpenDim) -> Json:
    return [dim.location, dim.type, encode_dim(dim.declared), encode_dim(dim.actual)]


def encode_interface(model: Model) -> Json:
    """The inputs without defaults, and the outputs, each as a name and the encoded type in hexadecimal."""
    inputs = [v for v in model.graph.inputs if v.initializer is None]
    return {
        "ir_version": model.ir_version,
        "inputs": [encode_port(v) for v in inputs],
        "outputs": [encode_port(v) for v in model.graph.outputs],
        "has_defaults": len(inputs) < len(model.graph.inputs),
    }


def encode_port(value: Value) -> Json:
    return [value.name, None if value.type is None else encode(type_to(value.type)).hex()]


def encode_slots(encoding: Encoding) -> dict[str, bytes]:
    """The sections of a program's slots: their values (0 for those that depend on input sizes), their base indices, and the
    indices of those that depend on input sizes."""
    fixed = [value if isinstance(value, int) else 0 for value in encoding.values]
    varying = [i for i, value in enumerate(encoding.values) if not isinstance(value, int)]
    arrays = {"words": fixed, "bases": encoding.bases, "varying": varying}
    return {name: np.array(values, "<i8").tobytes() for name, values in arrays.items()}


class TensorEncoder:
    """Encodes tensors and actions.

    storages: the encoded buffers, numbered in the order of first use.
    constants: the contents of constant buffers, in the same order.
    """

    def __init__(self, plan: MemoryPlan) -> None:
        self.plan = plan
        self.storages: list[Json] = []
        self.constants: list[Array | LazyConstant] = []
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
            self.constants.append(buffer.content)
            return len(self.constants) - 1
        if buffer.role != "arena":
            return None
        slot = self.plan.slot_of.get(buffer)
        return self.plan.offsets[buffer] if slot is None else [slot]

    def tensor(self, tensor: TensorView) -> Json:
        start = [self.buffer(tensor.buffer), encode_dim(tensor.offset)]
        return [int(tensor.dtype), encode_dims(tensor.shape), encode_dims(tensor.strides), *start]

    def base(self, base: Buffer | Kernel) -> Json:
        """A base address: the number of a buffer in a list; None for a kernel, which is not linked yet."""
        return None if isinstance(base, Kernel) else [self.buffer(base)]

    def action(self, action: Action, node_numbers: Mapping[Node, int]) -> Json:
        match action:
            case Step():
                return action.kernel.key
            case FallbackOp():
                return [
                    node_numbers[action.node],
                    [[v.name, self.tensor(t)] for v, t in action.native_inputs.items()],
                ]
            case CollectScanOutputs():
                buffers: Json = [[v.name, self.tensor(t)] for v, t in action.buffers.items()]
                return [buffers, self.tensor(action.iterations), action.is_last]
            case BindSizes():
                symbols: Json = [[axis, name] for axis, name in action.symbols.items()]
                count: Json = [] if action.count is None else [self.tensor(action.count)]
                return [action.value.name, action.rank, symbols, count]
        return [action.value.name, self.tensor(action.tensor)]
