"""The header of a library, for C89 and C++: sizes, types of inputs and outputs, errors, and the entry points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.export import layout, outcomes
from sardonyx._src.export.interface import LibraryInterface, Port


@dataclass(frozen=True, slots=True)
class LibraryFacts:
    """What a header says of a library.

    prefix: of its symbols.  description: of the model, and of the processors that run it.
    arena_bytes: the size of the arena.  weight_bytes: the size of the weights that the caller passes; None if the library
    has them.
    """

    prefix: str
    description: str
    interface: LibraryInterface
    arena_bytes: int
    weight_bytes: int | None


def header_text(facts: LibraryFacts) -> str:
    """The header."""
    return "\n".join((*opening(facts), *macros(facts), *types(facts), *functions(facts), *closing(facts)))


def opening(facts: LibraryFacts) -> Iterator[str]:
    guard = f"{facts.prefix.upper()}_H"
    yield f"/* {comment(facts.description)}.  Written by Sardonyx; do not edit."
    yield ""
    yield "   The library needs no other one, and allocates nothing.  A run uses only the arena that it gets, and reads"
    yield "   nothing of earlier runs there, so that threads may run at once, each with an arena.  Inputs, outputs and"
    yield "   arena must not overlap. */"
    yield f"#ifndef {guard}"
    yield f"#define {guard}"
    yield ""
    yield "#include <stddef.h>"
    yield "#include <stdint.h>"
    yield ""
    yield "#ifdef __cplusplus"
    yield 'extern "C" {'
    yield "#endif"
    yield ""


def macros(facts: LibraryFacts) -> Iterator[str]:
    upper = facts.prefix.upper()
    yield "/* The arena of a run, in bytes. */"
    yield f"#define {upper}_ARENA_BYTES {facts.arena_bytes}UL"
    yield f"#define {upper}_ARENA_ALIGNMENT {layout.ALIGNMENT}"
    if facts.weight_bytes is not None:
        yield "/* The content of the file of weights, aligned as the arena is. */"
        yield f"#define {upper}_WEIGHT_BYTES {facts.weight_bytes}UL"
    yield ""
    yield "/* Elements of the C type, ranks and sizes. */"
    for side, ports in (("INPUT", facts.interface.inputs), ("OUTPUT", facts.interface.outputs)):
        for port in ports:
            name = f"{upper}_{side}_{port.c_name.upper()}"
            yield f"#define {name}_ELEMENTS {port.c_elements}UL"
            yield f"#define {name}_RANK {len(port.shape)}"
            if port.shape:
                yield f"#define {name}_DIMS {{{', '.join(map(str, port.shape))}}}"
    yield ""


def types(facts: LibraryFacts) -> Iterator[str]:
    prefix, upper = facts.prefix, facts.prefix.upper()
    yield f"enum {prefix}_outcome {{"
    rows = [f"    {upper}_{name} = {i}" for i, (name, _) in enumerate(outcomes.OUTCOMES)]
    yield ",\n".join(rows)
    yield "};"
    yield ""
    yield from struct_lines(f"{prefix}_inputs", facts.interface.inputs, "const ")
    yield from struct_lines(f"{prefix}_outputs", facts.interface.outputs, "")


def struct_lines(name: str, ports: Sequence[Port], qualifier: str) -> Iterator[str]:
    """A struct of pointers; one that has no member in the model has one that nothing reads."""
    yield f"typedef struct {name} {{"
    for port in ports:
        sizes = ", ".join(map(str, port.shape))
        aligned = f", aligned to {port.alignment} bytes" if port.alignment > port.element_bytes else ""
        yield f"    {qualifier}{port.c_type} *{port.c_name}; /* {comment(port.name)}: {port.dtype.text} [{sizes}]{aligned} */"
    if not ports:
        yield f"    {qualifier}void *none;"
    yield f"}} {name};"
    yield ""


def functions(facts: LibraryFacts) -> Iterator[str]:
    prefix = facts.prefix
    weights = "" if facts.weight_bytes is None else ", const void *weights"
    yield "/* Runs the model; returns 0, or an error, after which the outputs are not valid. */"
    yield f"int {prefix}_run(const {prefix}_inputs *inputs, const {prefix}_outputs *outputs, void *arena,"
    yield f"    size_t arena_bytes{weights});"
    yield ""
    yield "/* The text of an error. */"
    yield f"const char *{prefix}_error_text(int outcome);"
    yield ""


def closing(facts: LibraryFacts) -> Iterator[str]:
    yield "#ifdef __cplusplus"
    yield "}"
    yield "#endif"
    yield ""
    yield f"#endif /* {facts.prefix.upper()}_H */"
    yield ""


def comment(text: str) -> str:
    """A text that may stand in a comment of C."""
    printable = "".join(c if " " <= c <= "~" else "?" for c in text)
    return printable.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")
