"""Compiles, links and writes saved programs: `.sdx` files and entries of the cache."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from itertools import chain
from pathlib import Path

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.executor import entry_layout
from sardonyx._src.compile.linker import link
from sardonyx._src.compile.linker.features import machine_of, required_features
from sardonyx._src.compile.llvm import jit, loaded_kernels
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.host_target import compile_for_class
from sardonyx._src.compile.llvm.jit import Module
from sardonyx._src.compile.program import EXACT, Kernel, Precision
from sardonyx._src.compile.program.encoding import size_functions
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.steps.assumptions import Assumptions
from sardonyx._src.compile.program.steps.program import (
    Action,
    BindSizes,
    CollectScanOutputs,
    CopyIn,
    FallbackOp,
    Program,
)
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.errors import SardonyxError
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.interp.program import check_kernels
from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.io.serde import to_proto
from sardonyx._src.io.serde.tensors import sparse_to, tensor_to
from sardonyx._src.ir import Model, Node, SparseTensor, Tensor, Value
from sardonyx._src.ir.walk import captures
from sardonyx._src.phases import phase
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.runtime.declarations.declaration_analysis import analyze_declarations
from sardonyx._src.runtime.declarations.inner_declarations import StaticDeclarations
from sardonyx._src.runtime.identity.verified_files import record_verified, record_when_flushed
from sardonyx._src.runtime.limits.thread_pool import run_loop_module
from sardonyx._src.runtime.programs.arrays import FIELDS, entry_module
from sardonyx._src.runtime.programs.async_compilation import async_compilation
from sardonyx._src.runtime.programs.compiled_addresses import interpreted_sizes, size_function
from sardonyx._src.runtime.programs.precision import require_precision
from sardonyx._src.runtime.runs.native_program import compile_for_host
from sardonyx._src.runtime.saved_programs.constant_files import ConstantFiles
from sardonyx._src.runtime.saved_programs.container import (
    DocumentAndSections,
    Json,
    expect_list,
    write_container,
)
from sardonyx._src.runtime.saved_programs.encoded_program import encode_program
from sardonyx._src.runtime.saved_programs.encoded_tensors import TensorEncoder, encode_slots
from sardonyx._src.runtime.saved_programs.encoded_values import (
    encode_assumptions,
    encode_declarations,
    encode_interface,
)
from sardonyx._src.runtime.saved_programs.image import protocol_digest

# Functions of the run loop: for the caller of a run, and for the workers of the thread pool.
RUNNER = ("run", "work")
ENTRY_MODE, FILE_MODE = 0o600, 0o666  # permissions: only the user may read an entry of the cache


def save_compiled(model: Model, path: Path, precision: Precision = EXACT, processor: str = "") -> None:
    """Compiles a model into a file that `Session` opens without compiling anything.

    precision: as of `Session`.  processor: the class of processors that will run it, of any kind of machine; "": this one's.
    Raises what a session raises for a model that cannot be run, MissingPackage without llvmlite, and SardonyxError on
    systems without saved programs.
    """
    with compile_for_class(processor):
        compile_and_write(without_gradient_nodes(model), path, precision)


def compile_and_write(model: Model, path: Path, precision: Precision) -> None:
    """`save_compiled` for the class for which this context compiles."""
    require_precision(precision)
    check_kernels(model)
    with typed_defects("compile"), limit_nesting(), async_compilation():
        executable = compile_for_host(model, precision=precision)
        refuse_c_functions(executable.program)
        write_program(path, model, analyze_declarations(model), executable)


def refuse_c_functions(program: Program) -> None:
    """Raises SardonyxError for a program that calls C functions: their addresses are valid only in this process."""
    from sardonyx._src.compile.lower.operators.own_kernel import C_FUNCTION_KEY  # lazy: few models need it

    for step in program.steps:
        if step.kernel.key.startswith(C_FUNCTION_KEY):
            what = f"node {step.nodes[0] if step.nodes else ''!r} calls a C function of this process"
            raise SardonyxError(
                f"{what}, which no file can hold; define its operator by a kernel or an expression"
            )


@phase("cache")
def write_program(
    path: Path,
    interface: Model,
    declarations: StaticDeclarations,
    executable: Executable,
    *,
    entry: str = "",
    assumptions: Assumptions = (),
    files: ConstantFiles | None = None,
) -> None:
    """Writes the program of a model, and its code, into a file.

    interface: a model with the inputs and outputs that callers see.
    declarations: the declared sizes of the model's inner values, as far as inference decides them.
    entry: the name of an entry of the cache; "" for any other file.
    assumptions: the assumptions for which the program was compiled.
    files: other files that readers of the program can map, so that it does not repeat their constants.
    Raises SardonyxError on systems other than Linux on x86-64, AArch64 or RISC-V.
    """
    target = jit.compile_target()
    machine = machine_of(target)
    if machine is None:
        raise SardonyxError("saved programs require Linux on x86-64, AArch64 or RISC-V")
    # Workers compile while constants are packed and written.
    code = ProgramCode(executable, target, FIELDS)
    fallback_model, node_numbers = extract_fallback_model(executable.program)
    files = files or ConstantFiles()
    encoder = TensorEncoder(executable.plan, files)
    document: dict[str, Json] = {
        "entry": entry,
        "interface": encode_interface(interface),
        "declarations": encode_declarations(declarations),
        "assumptions": encode_assumptions(assumptions),
        "machine": machine,
        "precision": executable.program.precision,
        "protocol": protocol_digest(),
        **encode_program(executable, encoder, node_numbers),
        **encoder.encode_memory(),
        "general": files.general_digest,
        "keys": encoder.encode_keys() if may_be_specialized(executable.program) else {},
        "ports": port_names(fallback_model),
    }
    sections = {"model": encode_model(fallback_model), **encode_slots(executable.encoding)}

    def link() -> DocumentAndSections:
        code_document, image = code.link_and_describe(document["others"])
        return {**document, **code_document}, {**sections, "code": image}

    write_container(path, encoder.constants, link, ENTRY_MODE if entry else FILE_MODE, flushes=not entry)
    with suppress(OSError):
        stamp = FileStamp.from_path(os.path.realpath(path))
        if entry:
            record_when_flushed(stamp)
        else:
            record_verified(stamp)


def may_be_specialized(program: Program) -> bool:
    """Whether runs of a general program show what specialized programs of its model are compiled for."""
    return bool(program.observations or program.parameters)


# --- code --------------------------------------------------------------------------------------


class ProgramCode:
    """All native code that a program needs: kernels, run loop, fast entry and size function.

    Construction queues it for the compile workers, if there are any.
    """

    def __init__(self, executable: Executable, target: Target, fields: entry_layout.ArrayFields) -> None:
        self.target, self.fields = target, fields
        self.program, self.encoding = executable.program, executable.encoding
        self.kernels = self.program.kernels
        self.interpreted: list[Kernel] = []
        self.others = [run_loop_module(target), entry_module(target, fields)]
        self.sizes = (
            None if self.program.is_static else interpreted_sizes(self.program, self.encoding, target)
        )
        if not self.program.is_static and self.sizes is None:
            self.others.append(size_function(self.program, self.encoding))
        for module in self.others:
            jit.compile_module_async(module, default_cache(), target)
        for kernel in self.kernels:
            loaded_kernels.compile_kernel_async(kernel)

    @phase("kernels")
    def image(self) -> link.LinkedImage:
        """The linked code."""
        names = [*RUNNER, *entry_layout.ENTRIES, *map(loaded_kernels.symbol_name, self.kernels)]
        names += [] if self.program.is_static else ["sizes"]
        objects = [loaded_kernels.kernel_objects(kernel, self.target) for kernel in self.kernels]
        self.interpreted = [
            kernel for kernel, code in zip(self.kernels, objects, strict=True) if len(code) > 1
        ]
        every = [*chain.from_iterable(objects), *map(self.code_of, self.others), *(self.sizes or [])]
        return link.link_objects([*dict.fromkeys(every)], names)

    def code_of(self, module: Module) -> bytes:
        """The code of a function that is no kernel: of the run loop, the fast entry or sizes."""
        with phase("sizes") if module.quick else nullcontext():
            return jit.object_code(module, default_cache(), self.target)

    def link_and_describe(self, others: Json) -> tuple[dict[str, Json], bytes]:
        """The description of the code for the document, and the code.

        others: the encoded bases of slots, with None for each kernel, whose offset in the code is inserted.
        """
        image, bases = self.image(), zip(self.encoding.extra_bases, expect_list(others), strict=True)
        library_kernels = len(self.interpreted) + sum(
            loaded_kernels.is_library_kernel(kernel, self.target) for kernel in self.kernels
        )
        document: dict[str, Json] = {
            "kernels": [library_kernels, len(self.kernels) - library_kernels],
            "interpreted": [[self.encoding.extra_bases[kernel], kernel.key] for kernel in self.interpreted],
            "features": [*required_features(self.target)],
            "class": self.target.class_name,
            "fields": [*field_offsets(self.fields)],
            "functions": {name: image.functions[name] for name in (*RUNNER, *entry_layout.ENTRIES)},
            "slots": {**image.slots},
            "size": self.static_size(image),
            "others": [
                image.functions[loaded_kernels.symbol_name(base)] if isinstance(base, Kernel) else encoded
                for base, encoded in bases
            ],
        }
        return document, bytes(image.code)

    def static_size(self, image: link.LinkedImage) -> Json:
        """The bytes of the arena, the bytes of a thread's scratch, and the number of failed guards, for a program without
        symbolic sizes; for another program, the offset of its size function in the code."""
        if not self.program.is_static:
            return image.functions["sizes"]
        _, arena, scratch, faults = size_functions.evaluate_sizes(self.program, self.encoding, ())
        return [arena, scratch, faults]


def field_offsets(fields: entry_layout.ArrayFields) -> Sequence[int]:
    return fields.type_object, fields.data, fields.rank, fields.dims, fields.dtype, fields.flags


# --- fallback operations -----------------------------------------------------------------------


def extract_fallback_model(program: Program) -> tuple[m.ModelProto, dict[Node, int]]:
    """The model of the fallback ops' nodes, and the index of each node in that model.

    Its inputs are the inputs of the program, and after them the results of kernel steps to which actions or the outputs
    refer.  It has only the initializers that these nodes or the outputs read.
    """
    graph = program.model.graph
    called = {action.node for action in program.actions if isinstance(action, FallbackOp)}
    nodes = [node for node in graph.nodes if node in called]
    read = dict.fromkeys([*(v for node in nodes for v in values_read_by(node)), *graph.outputs])
    read.update(dict.fromkeys(v for action in program.actions for v in values_named_by(action)))
    computed = {v for node in nodes for v in node.outputs}
    native = [v for v in read if v.initializer is None and v not in computed and v not in graph.inputs]
    record = m.ModelProto(ir_version=program.model.ir_version)
    record.opset_import = to_proto.imports(program.model.opset_imports)
    if nodes:
        record.functions = [to_proto.function(f, to_proto.inline) for f in program.model.functions.values()]
    record.graph = m.GraphProto(
        name=graph.name or "graph",
        node=[to_proto.node(node) for node in nodes],
        input=[m.ValueInfoProto(name=v.name) for v in (*graph.inputs, *native)],
        output=[m.ValueInfoProto(name=v.name) for v in graph.outputs],
    )
    add_initializers(record.graph, [v for v in read if v.initializer is not None])
    return record, {node: i for i, node in enumerate(nodes)}


def encode_model(record: m.ModelProto) -> bytes:
    """A model of fallback ops; nothing if it has only inputs and outputs, of which `port_names` are the names."""
    graph = record.graph
    assert graph is not None, "the record is that of a graph"
    return encode(record) if graph.node or graph.initializer or graph.sparse_initializer else b""


def port_names(record: m.ModelProto) -> Json:
    """The names of a model's inputs, and those of its outputs."""
    graph = record.graph
    assert graph is not None, "the record is that of a graph"
    return [[port.name for port in ports] for ports in (graph.input, graph.output)]


def values_named_by(action: Action) -> Iterator[Value]:
    """The values to which the encoded action of a program refers by name."""
    match action:
        case FallbackOp():
            yield from action.native_inputs
        case CopyIn() | BindSizes():
            yield action.value
        case CollectScanOutputs():
            yield from action.buffers


def values_read_by(node: Node) -> list[Value]:
    """The values that a node reads, captured values of its subgraphs included, in order."""
    inputs = [v for v in node.inputs if v is not None]
    return inputs + [v for graph in node.subgraphs for v in captures(graph)]


def add_initializers(record: m.GraphProto, values: list[Value]) -> None:
    tensors = [(v.name, v.initializer) for v in values]
    record.initializer = [tensor_to(t, to_proto.inline, name) for name, t in tensors if isinstance(t, Tensor)]
    record.sparse_initializer = [
        sparse_to(t, to_proto.inline, name) for name, t in tensors if isinstance(t, SparseTensor)
    ]
