"""The binding of a shared library in Python: a module that needs the standard library alone."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.export import layout
from sardonyx._src.export.header import LibraryFacts
from sardonyx._src.export.interface import Port

# Formats of the module struct, by C type.
FORMATS = {
    "float": "f",
    "double": "d",
    "int8_t": "b",
    "int16_t": "h",
    "int32_t": "i",
    "int64_t": "q",
    "uint8_t": "B",
    "uint16_t": "H",
    "uint32_t": "I",
    "uint64_t": "Q",
}
TEMPLATE = '''\
"""{description}: {library} in Python.  Written by Sardonyx; do not edit.

    outputs = Model().run({{"x": array}})

An input is an object with its elements in memory, in order, such as an array of NumPy.  An output is a memoryview, of which
numpy.asarray makes an array.  Elements without a type of C are their bits; a complex number is two elements.
"""

import ctypes
import mmap
import os
from math import prod

FOLDER = os.path.dirname(os.path.abspath(__file__))
ARENA_BYTES, ALIGNMENT = {arena_bytes}, {alignment}
WEIGHTS = {weights!r}
# Format of the elements, their size in bytes, and the sizes of the tensor.
INPUTS = {inputs}
OUTPUTS = {outputs}


class Model:
    """The model, with an arena; a thread needs one of its own."""

    def __init__(self):
        library = ctypes.CDLL(os.path.join(FOLDER, {library!r}))
        self.entry, self.error_text = library.{prefix}_run, library.{prefix}_error_text
        self.error_text.restype = ctypes.c_char_p
        self.arena = (ctypes.c_char * (ARENA_BYTES + ALIGNMENT))()
        self.weights = None if WEIGHTS is None else mapped(os.path.join(FOLDER, WEIGHTS))

    def run(self, inputs):
        """The outputs by name; raises ValueError for inputs that do not fit, and for an error of the library."""
        feeds = [fed(name, inputs) for name in INPUTS]
        results = [bytearray(size * prod(dims)) for _, size, dims in OUTPUTS.values()]
        writable = [(ctypes.c_char * len(result)).from_buffer(result) for result in results]
        arena = -(-ctypes.addressof(self.arena) // ALIGNMENT) * ALIGNMENT
        arguments = [pointers(feeds), pointers(writable), ctypes.c_void_p(arena), ctypes.c_size_t(ARENA_BYTES)]
        if self.weights is not None:
            arguments.append(ctypes.c_void_p(ctypes.addressof(self.weights)))
        outcome = self.entry(*arguments)
        if outcome:
            raise ValueError(self.error_text(outcome).decode())
        return {{name: shaped(result, *OUTPUTS[name]) for name, result in zip(OUTPUTS, results)}}


def fed(name, inputs):
    """The bytes of an input."""
    if name not in inputs:
        raise ValueError(f"inputs must have {{name!r}}; got {{', '.join(map(repr, inputs))}}")
    _, size, dims = INPUTS[name]
    view = memoryview(inputs[name])
    count = size * prod(dims)
    if view.nbytes != count or not view.c_contiguous:
        raise ValueError(f"{{name}} must have {{count}} bytes in order, {{list(dims)}}; got {{view.nbytes}} bytes, {{list(view.shape)}}")
    return (ctypes.c_char * count).from_buffer_copy(view.tobytes())


def shaped(result, kind, size, dims):
    """The elements of an output; those of a tensor without elements have one dim."""
    view = memoryview(result)
    return view.cast(kind, dims) if result else view.cast(kind)


def pointers(memories):
    return (ctypes.c_void_p * len(memories))(*map(ctypes.addressof, memories))


def mapped(path):
    """The content of a file, which begins at a page."""
    with open(path, "rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return (ctypes.c_char * len(content)).from_buffer(content)
'''


def binding_text(facts: LibraryFacts, library: str, weights: str | None) -> str:
    """The module.  library, weights: the names of the files."""
    return TEMPLATE.format(
        description=facts.description.replace("\\", "/").replace('"', "'"),
        library=library,
        weights=weights,
        prefix=facts.prefix,
        arena_bytes=facts.arena_bytes,
        alignment=layout.ALIGNMENT,
        inputs=table(facts.interface.inputs),
        outputs=table(facts.interface.outputs),
    )


def table(ports: Sequence[Port]) -> str:
    """The types and sizes of inputs or outputs, as a dict."""
    rows = {}
    for port in ports:
        dims = (*port.shape, 2) if port.dtype.is_complex else port.shape
        rows[port.name] = (FORMATS[port.c_type], port.element_bytes, dims)
    return repr(rows)
