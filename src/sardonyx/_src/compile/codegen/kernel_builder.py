"""Builder of a kernel: a native function `void name(ptr args, i64 first, i64 last, ptr scratch)`.

In a call, `args` are i64 slots, each an address or a size (`parameters.py`), and `scratch` is memory of the calling
thread.  The call executes the units of work in [first, last).

A kernel is a function that receives a builder and reads from top to bottom:

    def emit_scale(b: KernelBuilder) -> None:
        (x, y), n = b.pointers("x", "y"), b.integer("n")
        with b.loop(b.first_unit, b.end_unit) as row:
            ...
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.emit_expressions import ExpressionEmitter


class KernelBuilder(ExpressionEmitter):
    """Builds a kernel for a target.

    parameters: the names of its argument slots.
    aligns_stack: whether stack slots of spilled vectors are aligned, for which LLVM reserves the frame pointer.
        Unaligned slots cross cache lines depending on the stack of the caller.
    """

    scratch = "%scratch"
    aligns_stack = False

    def __init__(self, target: Target, parameters: Parameters | None = None) -> None:
        super().__init__(target.has_fma)
        self.converts_half = target.converts_half
        self.target = target
        self.parameters = parameters or Parameters()

    @property
    def first_unit(self) -> LLVMValue:
        return LLVMValue(self, I64, "%first")

    @property
    def end_unit(self) -> LLVMValue:
        return LLVMValue(self, I64, "%last")

    def pointer(self, name: str) -> str:
        """Loads a parameter that is an address; returns the name of the pointer."""
        return self.load_pointer(self._argument_address(name, "ptr"))

    def pointers(self, *names: str) -> tuple[str, ...]:
        """Loads parameters that are addresses, in this order; returns the names of the pointers."""
        return tuple(self.pointer(name) for name in names)

    def integer(self, name: str) -> LLVMValue:
        """Loads a parameter that is an i64."""
        return self.emit(I64, f"load i64, ptr {self._argument_address(name, 'i64')}")

    def integers(self, *names: str) -> tuple[LLVMValue, ...]:
        """Loads parameters that are i64, in this order."""
        return tuple(self.integer(name) for name in names)

    def float32(self, name: str) -> LLVMValue:
        """Loads a parameter that holds the bits of a float32 (`float32_bits`)."""
        return self.emit(LLVMType("float"), f"load float, ptr {self._argument_address(name, 'i64')}, align 8")

    def _argument_address(self, name: str, element: str) -> str:
        """The name of the pointer to a parameter's slot."""
        return self.gep("%args", self.constant(self.parameters.index(name), I64), element)

    def build_module(self, name: str) -> str:
        """The text of the complete module, once all instructions are emitted."""
        frame = '"frame-pointer"="all" ' if self.aligns_stack else ""
        head = f"define void @{name}(ptr %args, i64 %first, i64 %last, ptr %scratch) nounwind {frame}{{"
        self.definitions.declare(*self.declarations)
        function = "\n".join((head, "entry:", *self.allocas, *self.lines, " ret void", "}"))
        return "\n".join((self.definitions.text(), function))
