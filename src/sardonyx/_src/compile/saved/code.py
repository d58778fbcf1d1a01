"""The code of a program in a file, and what the document says of it."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile import entry, sizes, tape
from sardonyx._src.compile.layout import Layout
from sardonyx._src.compile.llvm import jit, kernels
from sardonyx._src.compile.llvm.cache import disk
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.program import Program
from sardonyx._src.compile.saved import link
from sardonyx._src.compile.saved.container import Json, the_list
from sardonyx._src.compile.saved.features import needed
from sardonyx._src.compile.show import kernels as used
from sardonyx._src.compile.step import Kernel

RUNNER = ("run", "work")


class Code:
    """All the code that a program needs; children are at it from the moment at which this is made, if there are any."""

    def __init__(self, program: Program, words: Layout, target: Target, fields: entry.Fields) -> None:
        self.program, self.words, self.target, self.fields = program, words, target, fields
        self.kernels = used(program)
        self.runner = (tape.source(target), entry.source(target, fields))
        self.sizes = None if program.is_static else sizes.text("sizes", program, words)
        if self.sizes is not None:
            jit.prepare(self.sizes, disk(), quick=True)
        for text in self.runner:
            jit.prepare(text, disk())
        for kernel in self.kernels:
            kernels.prepare(kernel)

    def image(self) -> link.Image:
        """The code, linked."""
        names = [*RUNNER, "enter", *map(kernels.symbol, self.kernels)]
        objects = [*map(kernels.code, self.kernels), *(jit.object_code(one, disk()) for one in self.runner)]
        if self.sizes is not None:
            names.append("sizes")
            objects.append(jit.object_code(self.sizes, disk(), quick=True))
        return link.linked(objects, names)

    def made(self, others: Json) -> tuple[dict[str, Json], bytes]:
        """What the document says of the code, and the code; `others` has a place for each kernel among the bases."""
        image, bases = self.image(), zip(self.words.others, the_list(others), strict=True)
        document: dict[str, Json] = {
            "features": [*needed(self.target)],
            "fields": [*vars_of(self.fields)],
            "functions": {name: image.functions[name] for name in (*RUNNER, "enter")},
            "slots": {**image.slots},
            "size": self.static_size(image),
            "others": [
                image.functions[kernels.symbol(of)] if isinstance(of, Kernel) else place
                for of, place in bases
            ],
        }
        return document, bytes(image.code)

    def static_size(self, image: link.Image) -> Json:
        """Bytes of the arena, of a thread's scratch, and faults; or where the function is that works out sizes."""
        if not self.program.is_static:
            return image.functions["sizes"]
        _, arena, scratch, faults = sizes.worked_out(self.program, self.words, ())
        return [arena, scratch, faults]


def vars_of(fields: entry.Fields) -> Sequence[int]:
    return fields.kind, fields.data, fields.rank, fields.dims, fields.dtype, fields.flags
