"""LLVM text to object code: the one module that imports llvmlite, for this process and for compile workers.

As a script it is a worker (`compile_workers`): `python compiler.py FOLDER`, where FOLDER contains llvmlite.  It imports
no other module of Sardonyx, nor NumPy, so that it starts quickly.  Its first response describes the processor; then it
answers requests from standard input until that ends.  A request is the length of its content in 8 bytes, then the
arguments of `compile_module` as JSON.  A response is its kind (`HOST_INFO`, `OBJECT_CODE` or `REJECTION`, one byte), the
length of its content, the content's SHA-256, and the content.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import struct
import sys
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    import llvmlite.binding as llvm

    Tracker: TypeAlias = llvm.ResourceTracker

REQUEST_HEADER = struct.Struct("<Q")
RESPONSE_HEADER = struct.Struct("<cQ32s")
HOST_INFO, OBJECT_CODE, REJECTION = b"f", b"c", b"e"
SERIAL = count()
# Characters.  Modules from here on are matrix products, convolutions, attention and recurrences.
LONG_MODULE = 64_000


class InvalidModule(Exception):
    """LLVM rejects the text of a module."""


def llvmlite_package() -> Any:
    """llvmlite, imported at first use: saved and cached programs run without it."""
    import llvmlite.binding

    return llvmlite


def binding() -> Any:
    return llvmlite_package().binding


@cache
def initialize_llvm() -> None:
    """Initializes LLVM for the processor of this process."""
    binding().initialize_native_target()
    binding().initialize_native_asmprinter()


@cache
def initialize_other_targets() -> None:
    """Initializes LLVM for all processors, for libraries that are compiled on another machine."""
    binding().initialize_all_targets()
    binding().initialize_all_asmprinters()


def query_host_info() -> dict[str, str]:
    """LLVM's description of the processor of this process, and the version of llvmlite."""
    initialize_llvm()
    return {
        "triple": binding().get_process_triple(),
        "cpu": binding().get_host_cpu_name(),
        "features": binding().get_host_cpu_features().flatten(),
        "compiler": llvmlite_package().__version__,
    }


def create_target_machine(triple: str, cpu: str, features: str, effort: int = 3) -> llvm.TargetMachine:
    """A new target machine.  It cannot be shared, since an engine of LLVM takes ownership of the one that it gets."""
    initialize_llvm()
    if not triple.startswith(binding().get_process_triple().partition("-")[0]):
        initialize_other_targets()
    target = binding().Target.from_triple(triple)
    return target.create_target_machine(
        cpu=cpu, features=features, opt=effort, reloc="pic", codemodel="small"
    )


def compile_module(text: str, triple: str, cpu: str, features: str, *, quick: bool = False) -> bytes:
    """The object code of a module in LLVM's text form; quick: without optimization.

    Raises InvalidModule.  LLVM's global context serves one thread at a time.
    """
    try:
        module = binding().parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise InvalidModule(str(error)) from error
    target_machine = create_target_machine(triple, cpu, features, effort=0 if quick else 3)
    module.triple = triple
    module.data_layout = str(target_machine.target_data)
    if not quick:
        run_passes(module, target_machine, is_long=len(text) >= LONG_MODULE)
    code: bytes = target_machine.emit_object(module)
    return code


def run_passes(module: llvm.ModuleRef, target_machine: llvm.TargetMachine, *, is_long: bool) -> None:
    """Inlines functions that are marked so, and simplifies the code before LLVM selects instructions.

    Kernels are generated vectorized and unrolled.  The passes that vectorize and unroll would double the time
    and find nothing.
    """
    tuning = binding().create_pipeline_tuning_options(speed_level=1)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = False
    pass_builder = binding().create_pass_builder(target_machine, tuning)
    passes = binding().create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    if is_long:
        add_short_pipeline(passes)
    passes.run(module, pass_builder)
    dispose_pass_manager(passes)
    if not is_long:
        simplify_functions(module, pass_builder)


def add_short_pipeline(passes: llvm.ModulePassManager) -> None:
    """The passes without which register tiles are slower: three tenths of the time of -O1's.

    Variables leave the stack, and the condition of a loop moves to its end.  What else -O1 does, as to move index
    arithmetic out of loops, gains nothing in long modules, whose loops have hundreds of products for each index, but up
    to a fifth in short ones: see docs/architecture/compiler.md.
    """
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_loop_rotate_pass()
    passes.add_simplify_cfg_pass()


def simplify_functions(module: llvm.ModuleRef, pass_builder: llvm.PassBuilder) -> None:
    """Runs LLVM's function passes of -O1."""
    simplification = pass_builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            simplification.run(function, pass_builder)
    dispose_pass_manager(simplification)


def dispose_pass_manager(manager: llvm.ModulePassManager | llvm.FunctionPassManager) -> None:
    """Frees a pass manager, some 10 KB, which llvmlite does not do.

    The first `_dispose` that its class inherits does nothing, and hides the one that frees it.
    """
    if type(manager)._dispose is binding().ffi.ObjectRef._dispose:
        binding().newpassmanagers.NewPassManager._dispose(manager)


def link_object(code: bytes, names: Sequence[str], host: tuple[str, str, str]) -> Tracker:
    """Links object code into this process.  The result maps names of functions to addresses, which are valid while it lives."""
    builder = binding().JITLibraryBuilder()
    builder.add_object_img(code)
    builder.add_current_process()  # for functions that LLVM calls, such as memcpy
    for name in names:
        builder.export_symbol(name)
    return builder.link(process_linker(*host), f"kernels_{next(SERIAL)}")


@cache
def process_linker(triple: str, cpu: str, features: str) -> llvm.LLJIT:
    """LLVM's linker of this process."""
    return binding().create_lljit_compiler(create_target_machine(triple, cpu, features))


# --- worker ----------------------------------------------------------------------------------


def serve_requests(requests: BinaryIO, responses: BinaryIO) -> None:
    """Answers requests until there are no more."""
    write_response(responses, HOST_INFO, json.dumps(query_host_info()).encode())
    while len(head := requests.read(REQUEST_HEADER.size)) == REQUEST_HEADER.size:
        arguments: Mapping[str, Any] = json.loads(requests.read(REQUEST_HEADER.unpack(head)[0]))
        try:
            write_response(responses, OBJECT_CODE, compile_module(**arguments))
        except InvalidModule as error:
            write_response(responses, REJECTION, str(error).encode())


def write_response(responses: BinaryIO, kind: bytes, content: bytes) -> None:
    responses.write(RESPONSE_HEADER.pack(kind, len(content), hashlib.sha256(content).digest()) + content)
    responses.flush()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it, and ends its workers
    sys.path.append(sys.argv[1])
    with os.fdopen(os.dup(1), "wb") as responses:
        os.dup2(2, 1)  # keeps LLVM's output out of the responses
        serve_requests(sys.stdin.buffer, responses)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        os._exit(1)  # the parent has ended
