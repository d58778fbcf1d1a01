"""The code of what interpreters compute: compiled templates with the words of a kernel or of a size function.

Neither text nor LLVM is needed for it: the interpreters and the templates are modules of a library.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Literal, TypeAlias

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.linker.elf import ElfObject
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.compile.llvm.jit import Module, is_in_library, library_code

Interpreter: TypeAlias = Literal["elementwise", "sizes"]
# Symbols in the text of the templates, whose modules are not imported for libraries.
DESCRIPTOR, KERNEL_SYMBOL = "descriptor", f"sx_{'0' * 24}"
WORD_BYTES = 8
SECTION_PLACE = struct.Struct("<QQ")  # offset and size, in the header of a section
SECTION_PLACE_OFFSET = 24


def module_names(interpreter: Interpreter) -> tuple[str, str]:
    """The names of the modules of an interpreter and of the template that calls it."""
    return f"interpreter of {interpreter}", f"template of {interpreter}"


def has_interpreter(interpreter: Interpreter, target: Target) -> bool:
    """Whether the library of a target has an interpreter, and our own linker can link it."""
    if saved_program_machine() is None:
        return False
    return all(is_in_library(library_module(name), target) for name in module_names(interpreter))


def interpreted_objects(
    interpreter: Interpreter, target: Target, words: Sequence[int], symbol: str = ""
) -> list[bytes]:
    """The object code of an interpreter, and of a template with these words.

    symbol: the name of the kernel's function, as long as the template's.
    """
    code, template = interpreter_code(interpreter, target)
    return [code, fill_template(template, words, symbol)]


@cache
def interpreter_code(interpreter: Interpreter, target: Target) -> tuple[bytes, bytes]:
    """The object code of an interpreter and of its template, from the library."""
    code, template = (library_code(library_module(name), target) for name in module_names(interpreter))
    assert code is not None and template is not None, "the library must have the interpreter"
    return code, template


def library_module(name: str) -> Module:
    """A module that only a library has."""

    def text() -> str:
        raise AssertionError(f"{name} must be in the library")

    return Module(name, text)


def fill_template(template: bytes, words: Sequence[int], symbol: str = "") -> bytes:
    """A template whose section of words is another one, at the end of the object."""
    parsed = ElfObject(template)
    (descriptor,) = (s for s in parsed.symbols if s.name == DESCRIPTOR)
    code = bytearray(template + bytes(-len(template) % WORD_BYTES))
    place = parsed.section_header(descriptor.section) + SECTION_PLACE_OFFSET
    SECTION_PLACE.pack_into(code, place, len(code), len(words) * WORD_BYTES)
    code += struct.pack(f"<{len(words)}q", *words)
    return bytes(code.replace(KERNEL_SYMBOL.encode(), symbol.encode()) if symbol else code)
