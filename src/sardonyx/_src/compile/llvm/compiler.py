"""LLVM text to object code: the one file that knows llvmlite, for this process and for children that run it.

Run as a program it compiles for its parent: `python compiler.py FOLDER`, where FOLDER has llvmlite.  It imports nothing
else of ours and not NumPy either, so that it is ready soon.  Its answers begin with one that says for which
processor it compiles; then it reads questions from its standard input until that ends.  A question is the length of what
follows, in 8 bytes, and JSON of what `compiled` takes.  An answer is a letter, `FACTS`, `CODE` or `FAULT`, the length of
what follows, its SHA-256, and the bytes.
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

QUESTION = struct.Struct("<Q")
ANSWER = struct.Struct("<cQ32s")
FACTS, CODE, FAULT = b"f", b"c", b"e"
SERIAL = count()


class Refused(Exception):
    """LLVM does not take a text."""


def package() -> Any:
    """LLVM's bindings, loaded when something is compiled: programs that were saved do without them."""
    import llvmlite.binding

    return llvmlite


def binding() -> Any:
    return package().binding


@cache
def start() -> None:
    """Makes LLVM ready for the processor of this process."""
    binding().initialize_native_target()
    binding().initialize_native_asmprinter()


def facts() -> dict[str, str]:
    """The processor that this process runs on, in LLVM's words, and LLVM's version."""
    start()
    return {
        "triple": binding().get_process_triple(),
        "cpu": binding().get_host_cpu_name(),
        "features": binding().get_host_cpu_features().flatten(),
        "compiler": package().__version__,
    }


def machine(triple: str, cpu: str, features: str, effort: int = 3) -> llvm.TargetMachine:
    """A target machine of its own: an engine takes over the one that it gets."""
    start()
    found = binding().Target.from_triple(triple)
    return found.create_target_machine(cpu=cpu, features=features, opt=effort, reloc="pic", codemodel="small")


def compiled(text: str, triple: str, cpu: str, features: str, *, quick: bool = False) -> bytes:
    """The object code of a module in LLVM's text form; `quick` code is not optimised.

    Raises Refused.  LLVM's global context serves one thread at a time.
    """
    try:
        module = binding().parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise Refused(str(error)) from error
    writer = machine(triple, cpu, features, effort=0 if quick else 3)
    module.triple = triple
    module.data_layout = str(writer.target_data)
    if not quick:
        optimise(module, writer)
    found: bytes = writer.emit_object(module)
    return found


def optimise(module: llvm.ModuleRef, writer: llvm.TargetMachine) -> None:
    """Puts functions in the place of their calls, then simplifies what is left, function by function.

    Kernels say themselves what is a vector and what is unrolled; passes that look for more take as long again and find
    nothing.
    """
    tuning = binding().create_pipeline_tuning_options(speed_level=1)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = False
    passes = binding().create_pass_builder(writer, tuning)
    inlining = binding().create_new_module_pass_manager()
    inlining.add_always_inliner_pass()
    inlining.run(module, passes)
    for function in module.functions:
        if not function.is_declaration:
            passes.getFunctionPassManager().run(function, passes)


def linked(code: bytes, names: Sequence[str], host: tuple[str, str, str]) -> Tracker:
    """Object code put where it can run: the addresses of functions by name, which hold as long as this is alive."""
    builder = binding().JITLibraryBuilder()
    builder.add_object_img(code)
    builder.add_current_process()  # for what LLVM itself calls, as memcpy
    for name in names:
        builder.export_symbol(name)
    return builder.link(linker(*host), f"kernels_{next(SERIAL)}")


@cache
def linker(triple: str, cpu: str, features: str) -> llvm.LLJIT:
    """The one linker of the process."""
    return binding().create_lljit_compiler(machine(triple, cpu, features))


# --- a child ---------------------------------------------------------------------------------


def serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """Answers until there are no more questions."""
    answer(answers, FACTS, json.dumps(facts()).encode())
    while len(head := questions.read(QUESTION.size)) == QUESTION.size:
        asked: Mapping[str, Any] = json.loads(questions.read(QUESTION.unpack(head)[0]))
        try:
            answer(answers, CODE, compiled(**asked))
        except Refused as error:
            answer(answers, FAULT, str(error).encode())


def answer(answers: BinaryIO, kind: bytes, content: bytes) -> None:
    answers.write(ANSWER.pack(kind, len(content), hashlib.sha256(content).digest()) + content)
    answers.flush()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent's, who ends us
    sys.path.append(sys.argv[1])
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what is printed is no answer
        serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        os._exit(1)  # the parent has gone
