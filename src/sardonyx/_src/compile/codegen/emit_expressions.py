"""Emits scalar expression DAGs (`expressions.py`) as LLVM instructions, in scalars or SIMD vectors.

`ExpressionEmitter` adds this to a function builder; `KernelBuilder` (kernel_builder.py) adds the kernel calling convention.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from sardonyx._src.compile.codegen import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.blocks import BlockBuilder
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS, convert, resize_integer
from sardonyx._src.compile.codegen.expressions import (
    FUNCTION_CALLS,
    Apply,
    Cast,
    Local,
    Number,
    Scalar,
    Select,
    topological_order,
)
from sardonyx._src.compile.codegen.joined_calls import (
    group_sizes,
    join_vectors,
    joins_calls,
    split_vector,
)
from sardonyx._src.compile.codegen.math.function import VectorFunction, VectorFunctionDefinitions

LOGICAL_OPS = ("and", "or", "xor", "not")
LoadLocal: TypeAlias = Callable[["Local"], LLVMValue]


class ExpressionEmitter(BlockBuilder):
    """A function builder that emits expressions, and collects the vector functions that they call."""

    def __init__(self, has_fma: bool, vector_functions: Mapping[str, VectorFunction] | None = None) -> None:
        """vector_functions: by operation; by default those of `math`."""
        super().__init__(has_fma)
        self.own_functions = vector_functions
        self.definitions = VectorFunctionDefinitions(has_fma)

    def emit_expression(self, value: Scalar, llvm_type: LLVMType, load_local: LoadLocal) -> LLVMValue:
        """Emits an expression in as many lanes as `llvm_type`; `load_local` loads the named operands, of any element type.

        Numbers take the type of the other operands; an expression of numbers only has `llvm_type`.  A subexpression
        that is one object is emitted once.
        """
        return ExpressionDag(self, load_local).emit(value, llvm_type)

    def emit_interleaved(
        self, values: Sequence[Scalar], llvm_types: Sequence[LLVMType], loads: Sequence[LoadLocal]
    ) -> list[list[LLVMValue]]:
        """Emits expressions for each of several vectors, one operation for all vectors before the next.

        Interleaving independent vectors hides the latency of their dependency chains; calls of vector functions are
        joined.  Returns the values for each vector.
        """
        dags = [ExpressionDag(self, load_local) for load_local in loads]
        for value, llvm_type in zip(values, llvm_types, strict=True):
            for node in reversed(list(topological_order(value))):
                if is_untyped(node):
                    continue
                if isinstance(node, Apply) and node.op in FUNCTION_CALLS:
                    emit_joined_calls(dags, node, llvm_type)
                for dag in dags:
                    dag.emit(node, llvm_type)
        return [
            [dag.emit(value, llvm_type) for value, llvm_type in zip(values, llvm_types, strict=True)]
            for dag in dags
        ]

    def emit_comparison(self, op: str, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        match op:
            case "lt":
                return a < b
            case "le":
                return a <= b
        assert op == "eq", f"comparison must be lt, le or eq; got {op}"
        return a.eq(b)

    def emit_operation(self, op: str, *args: LLVMValue) -> LLVMValue:
        """Emits an operation of `expressions.Apply`, by its name."""
        match op, args:
            case "fma", (a, b, c):
                return self.fma(a, b, c)
            case "where", (condition, a, b):
                return self.select(condition, a, b)
            case "clamp", (x, low, high):
                above = self.select(x > low, x, low)
                return self.select(above < high, above, high)
            case (("lt" | "le" | "eq"), (a, b)):
                return self.emit_comparison(op, a, b)
        from sardonyx._src.compile.codegen import operations  # lazy: kernels of a library need no text

        if op in operations.BINARY_OPS:
            return operations.BINARY_OPS[op](self, *args)
        if op in operations.UNARY_OPS:
            return operations.UNARY_OPS[op](self, *args)
        if op in operations.INTRINSIC_NAMES:
            return self.call_intrinsic(operations.INTRINSIC_NAMES[op], *args)
        if args[0].type.element == "double" and op in operations.DOUBLE_FUNCTIONS:
            return operations.DOUBLE_FUNCTIONS[op](self, *args)
        return self.call_vector_function(self.vector_functions[op], *args)

    @property
    def vector_functions(self) -> Mapping[str, VectorFunction]:
        from sardonyx._src.compile.codegen.operations import VECTOR_FUNCTIONS  # lazy, too

        return VECTOR_FUNCTIONS if self.own_functions is None else self.own_functions

    def call_vector_function(self, vector_function: VectorFunction, *args: LLVMValue) -> LLVMValue:
        """Calls a math function of fp32 vectors, whose definition becomes part of the module."""
        llvm_type = args[0].type
        assert llvm_type.element == "float", (
            f"operands of {vector_function.name} must be float; got {llvm_type}"
        )
        self.definitions.require(vector_function, llvm_type.lanes)
        return self.emit(llvm_type, vector_function.call(llvm_type.lanes, *(a.name for a in args)))


class ExpressionDag:
    """Emits expressions over one vector of operands; each node of their DAG is emitted once."""

    def __init__(self, emitter: ExpressionEmitter, load_local: LoadLocal) -> None:
        self.emitter, self.load_local = emitter, load_local
        # Keyed by identity: comparing nodes would take time exponential in the depth of a DAG.
        self.emitted: dict[tuple[int, LLVMType | None], LLVMValue] = {}

    def emit(self, value: Scalar, llvm_type: LLVMType) -> LLVMValue:
        """The value of a node; `llvm_type` is the type of untyped numbers, and gives the number of lanes."""
        key = id(value), llvm_type if is_untyped(value) else None
        if key not in self.emitted:
            self.emitted[key] = self.emit_node(value, llvm_type)
        return self.emitted[key]

    def emit_node(self, value: Scalar, llvm_type: LLVMType) -> LLVMValue:
        emitter = self.emitter
        match value:
            case Number() if llvm_type.is_half:
                number = emitter.constant(value.value, llvm_type.with_element("float"))
                return convert(emitter, number, llvm_type.element)
            case Number():
                return emitter.constant(value.value, llvm_type)
            case Local():
                return self.load_local(value)
            case Cast():
                operand = self.emit(value.value, llvm_type.with_element("float"))
                if operand.type.is_float and is_clamped_to_type(value):
                    return resize_integer(operand.convert("fptosi", "i32"), LLVM_ELEMENTS[value.dtype])
                return convert(emitter, operand, LLVM_ELEMENTS[value.dtype])
            case Apply(op="where", args=(condition, *branches)):
                mask = self.emit(condition, llvm_type.with_element("i1"))
                return emitter.emit_operation("where", mask, *self.emit_operands(branches, llvm_type))
            case Apply():
                return emitter.emit_operation(value.op, *self.emit_apply_operands(value, llvm_type))
            case Select():
                operands = self.emit_operands((value.a, value.b), llvm_type)
                is_chosen = emitter.emit_comparison(value.op, *operands)
                return emitter.select(
                    is_chosen, *self.emit_operands((value.then, value.otherwise), llvm_type)
                )

    def emit_apply_operands(self, value: Apply, llvm_type: LLVMType) -> list[LLVMValue]:
        """The operands of an operation other than `where`."""
        is_predicate = llvm_type.element == "i1" and value.op not in LOGICAL_OPS
        return self.emit_operands(value.args, llvm_type.with_element("float") if is_predicate else llvm_type)

    def emit_operands(self, values: Sequence[Scalar], llvm_type: LLVMType) -> list[LLVMValue]:
        """Operands of one type: the type of the first typed operand, or `llvm_type` if all are untyped numbers."""
        typed = {i: self.emit(value, llvm_type) for i, value in enumerate(values) if not is_untyped(value)}
        for operand in typed.values():
            llvm_type = operand.type
            break
        return [typed[i] if i in typed else self.emit(value, llvm_type) for i, value in enumerate(values)]


def emit_joined_calls(dags: Sequence[ExpressionDag], call: Apply, llvm_type: LLVMType) -> None:
    """Emits the call of a vector function for the vectors of all expressions, if joined calls are faster."""
    operands = [dag.emit_apply_operands(call, llvm_type) for dag in dags]
    if not joins_calls(call.op, operands[0][0].type):
        return
    emitter, first = dags[0].emitter, 0
    for size in group_sizes(len(dags)):
        group = slice(first, first + size)
        joined = [join_vectors(emitter, vectors) for vectors in zip(*operands[group], strict=True)]
        results = split_vector(emitter, emitter.emit_operation(call.op, *joined), size)
        for dag, result in zip(dags[group], results, strict=True):
            dag.emitted[id(call), None] = result
        first += size


def is_untyped(value: Scalar) -> bool:
    """Whether an expression consists of numbers only, and so takes the type of the other operands."""
    match value:
        case Number():
            return True
        case Apply() if value.op not in ("lt", "le", "eq", "isnan", "isinf"):
            operands = value.args[1:] if value.op == "where" else value.args
            return all(map(is_untyped, operands))
        case Select():
            return is_untyped(value.then) and is_untyped(value.otherwise)
        case _:
            return False


def is_clamped_to_type(value: Cast) -> bool:
    """Whether a float is clamped to the range of the integer type that it is cast to, of at most 16 bits (so not NaN)."""
    match value.value:
        case Apply(op="clamp", args=(_, Number(value=low), Number(value=high))):
            bits = value.dtype.bits
            lowest = -(1 << bits - 1) if value.dtype.is_signed else 0
            return value.dtype.is_integer and bits <= 16 and lowest <= low <= high < lowest + (1 << bits)
    return False
