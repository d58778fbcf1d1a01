"""The native code of a saved program, and its description in the document."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.executor import fast_entry, tape
from sardonyx._src.compile.linker import link
from sardonyx._src.compile.linker.features import required_features
from sardonyx._src.compile.llvm import jit, loaded_kernels
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.program import Kernel
from sardonyx._src.compile.program.encoding import size_functions
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.runtime.saved_programs.container import Json, expect_list

# Functions of the run loop: for the caller of a run, and for the workers of the thread pool.
RUNNER = ("run", "work")


class ProgramCode:
    """All native code that a program needs: kernels, run loop, fast entry and size function.

    Construction queues it for the compile workers, if there are any.
    """

    def __init__(self, executable: Executable, target: Target, fields: fast_entry.ArrayFields) -> None:
        self.target, self.fields = target, fields
        self.program, self.encoding = executable.program, executable.encoding
        self.kernels = self.program.kernels
        self.runner = (tape.tape_module(target), fast_entry.fast_entry_module(target, fields))
        self.sizes = (
            None
            if self.program.is_static
            else size_functions.size_function_module("sizes", self.program, self.encoding)
        )
        if self.sizes is not None:
            jit.compile_module_async(self.sizes, default_cache(), quick=True)
        for text in self.runner:
            jit.compile_module_async(text, default_cache())
        for kernel in self.kernels:
            loaded_kernels.compile_kernel_async(kernel)

    def image(self) -> link.LinkedImage:
        """The linked code."""
        names = [*RUNNER, "enter", *map(loaded_kernels.symbol_name, self.kernels)]
        objects = [
            *map(loaded_kernels.kernel_code, self.kernels),
            *(jit.object_code(text, default_cache()) for text in self.runner),
        ]
        if self.sizes is not None:
            names.append("sizes")
            objects.append(jit.object_code(self.sizes, default_cache(), quick=True))
        return link.link_objects(objects, names)

    def link_and_describe(self, others: Json) -> tuple[dict[str, Json], bytes]:
        """The description of the code for the document, and the code.

        others: the encoded bases of slots, with None for each kernel, whose offset in the code is inserted.
        """
        image, bases = self.image(), zip(self.encoding.extra_bases, expect_list(others), strict=True)
        document: dict[str, Json] = {
            "features": [*required_features(self.target)],
            "fields": [*field_offsets(self.fields)],
            "functions": {name: image.functions[name] for name in (*RUNNER, "enter")},
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


def field_offsets(fields: fast_entry.ArrayFields) -> Sequence[int]:
    return fields.type_object, fields.data, fields.rank, fields.dims, fields.dtype, fields.flags
