"""Size functions: a program's symbolic sizes and offsets, evaluated by compiled code `i64 sizes(ptr lengths, ptr values)`.

lengths: the value of each symbolic dim of the inputs, in order; then the sizes that the program binds, and the stage
(`Program.stages`) up to which these are known.  Sizes of later stages are guesses.
values: receives an i64 for each symbolic slot of the encoding, then the bytes of the arena, then the bytes of
    one thread's scratch, then the port dims (`port_dims.py`), if the program has them.

The result is the number of violations among expressions of known lengths: negative dims, guards that do not hold,
constants beyond 64 bits, and integer overflows.  If it is not 0, nothing may be run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sardonyx._src.compile.codegen import I64, LLVMValue
from sardonyx._src.compile.program.encoding.dim_builder import DimBuilder
from sardonyx._src.compile.program.encoding.encoding import Encoding
from sardonyx._src.compile.program.encoding.port_dims import port_dims
from sardonyx._src.compile.program.encoding.size_limits import MAX_INT64, fits_int64
from sardonyx._src.compile.program.operands.lazy_constants import CACHE_LINE_BYTES
from sardonyx._src.compile.program.steps.program import Program, stage_of
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ir.dims.values import INT_OPERATIONS, compute_value

OPERATIONS = {**INT_OPERATIONS, "//": lambda a, b: a // (b or 1), "%": lambda a, b: a % (b or 1)}


class SizeFunctionBuilder(DimBuilder):
    """Emits a size function, whose parameters are `lengths` and `values`."""

    def __init__(self, stages: Mapping[str, int]) -> None:
        """stages: the stage of each symbol, in the order of the lengths."""
        super().__init__(stages)
        for i, name in enumerate(stages):
            pointer = self.gep("%lengths", self.constant(i, I64), "i64")
            self.symbols[name] = self.emit(I64, f"load i64, ptr {pointer}")
        if any(stages.values()):
            pointer = self.gep("%lengths", self.constant(len(stages), I64), "i64")
            self.known_stage = self.emit(I64, f"load i64, ptr {pointer}")

    def align_to_cache_line(self, size: LLVMValue) -> LLVMValue:
        """A size in bytes rounded up to whole cache lines; 0 if it is negative."""
        padding = self.constant(CACHE_LINE_BYTES - 1, I64)
        return self.emit_checked("sadd", size.clamp_min(0), padding) & -CACHE_LINE_BYTES

    def store_value(self, index: int, value: LLVMValue) -> None:
        pointer = self.gep("%values", self.constant(index, I64), "i64")
        self.lines.append(f" store {value}, ptr {pointer}")


def size_function_module(name: str, program: Program, encoding: Encoding) -> str:
    """The LLVM module of a program's size function."""
    builder = SizeFunctionBuilder(program.stages)
    total = emit_arena_slots(builder, encoding)
    expressions = sized_values(encoding)
    for i, dim in enumerate(expressions):
        builder.store_value(i, builder.emit_dim(dim))
    builder.store_value(len(expressions), total)
    builder.store_value(len(expressions) + 1, emit_max_size(builder, encoding.scratch_sizes))
    for i, value in enumerate(emit_port_dims(builder, program), len(expressions) + 2):
        builder.store_value(i, value)
    stages = builder.stages
    checks = [(stage_of(dim, stages), builder.emit_dim(dim) < 0) for dim in runtime_dims(program)]
    for left, right in program.guards:
        unequal = builder.emit_dim(left).ne(builder.emit_dim(right))
        checks.append((max(stage_of(left, stages), stage_of(right, stages)), unequal))
    violations = emit_violations(builder, encoding, [*checks, *builder.overflows])
    head = f"define i64 @{name}(ptr %lengths, ptr %values) nounwind {{"
    return "\n".join(
        (*builder.declarations, head, "entry:", *builder.allocas, *builder.lines, f" ret {violations}", "}")
    )


def emit_port_dims(builder: SizeFunctionBuilder, program: Program) -> list[LLVMValue]:
    """The bytes of all outputs, at most MAX_INT64, and their dims."""
    ports = port_dims(program)
    if ports is None:
        return []
    total = builder.constant(0, I64)
    for tensor in ports.outputs:
        size = builder.constant(tensor.dtype.numpy.itemsize, I64)
        for dim in tensor.shape:
            size = builder.emit_saturated("smul", size, builder.emit_dim(dim))
        total = builder.emit_saturated("sadd", total, size)
    return [total, *map(builder.emit_dim, ports.output_dims)]


def emit_violations(
    builder: SizeFunctionBuilder, encoding: Encoding, checks: Sequence[tuple[int, LLVMValue]]
) -> LLVMValue:
    """The number of violations in the known stages.  checks: for each check its stage, and an i1, whether it fails."""
    violations = builder.constant(encoding.oversized + builder.constant_violations, I64)
    for stage, fails in checks:
        counted = fails & (builder.known_stage >= stage) if stage else fails
        violations = violations + counted.convert("zext", "i64")
    return violations


def emit_arena_slots(builder: SizeFunctionBuilder, encoding: Encoding) -> LLVMValue:
    """Emits the offsets of the arena slots, one after the other; returns the size of the arena."""
    total = builder.emit_number(encoding.plan.size)
    for i, slot in enumerate(encoding.plan.slots):
        sizes = dict.fromkeys(buffer.size for buffer in slot.buffers)
        stage = max(stage_of(size, builder.stages) for size in sizes)
        builder.symbols[f"slot {i}"], builder.stages[f"slot {i}"] = total, stage
        with builder.at_stage(stage):
            total = builder.emit_checked("sadd", total, emit_max_size(builder, sizes))
    return total


def emit_max_size(builder: SizeFunctionBuilder, sizes: Iterable[Known]) -> LLVMValue:
    """The maximum of some sizes, in whole cache lines."""
    largest = builder.constant(0, I64)
    for size in sizes:
        value = builder.emit_dim(size)
        largest = builder.select(largest < value, value, largest)
    return builder.align_to_cache_line(largest)


def sized_values(encoding: Encoding) -> list[Known]:
    """The slots that are symbolic expressions, in order."""
    return [value for value in encoding.values if isinstance(value, Expr)]


def runtime_dims(program: Program) -> list[Known]:
    """The symbolic dims of all tensors, which must not be negative, except local sizes, which binding steps check."""
    tensors = (t for action in program.actions for t in (*action.reads, *action.writes))
    dims = dict.fromkeys(dim for tensor in tensors for dim in tensor.shape if isinstance(dim, Expr))
    local = program.local_symbols
    return [dim for dim in dims if dim.symbols().isdisjoint(local)] if local else list(dims)


def evaluate_sizes(
    program: Program, encoding: Encoding, lengths: Sequence[int]
) -> tuple[list[int], int, int, int]:
    """The size function in Python, for known lengths.  Returns values, arena bytes, scratch bytes and the number of violations."""
    known = dict(zip(program.stages, lengths, strict=True))
    total = encoding.plan.size
    for i, slot in enumerate(encoding.plan.slots):
        known[f"slot {i}"] = total
        total += max_aligned_size(known, (buffer.size for buffer in slot.buffers))
    values = [evaluate_dim(value, known) for value in sized_values(encoding)]
    scratch = max_aligned_size(known, encoding.scratch_sizes)
    violations = encoding.oversized + sum(not fits_int64(number) for number in (*values, total, scratch))
    violations += sum(evaluate_dim(dim, known) < 0 for dim in runtime_dims(program))
    violations += sum(
        evaluate_dim(left, known) != evaluate_dim(right, known) for left, right in program.guards
    )
    return values, min(total, MAX_INT64), min(scratch, MAX_INT64), violations


def max_aligned_size(known: dict[str, int], sizes: Iterable[Known]) -> int:
    largest = max((evaluate_dim(size, known) for size in sizes), default=0)
    return -(-max(largest, 0) // CACHE_LINE_BYTES) * CACHE_LINE_BYTES


def evaluate_dim(dim: Known, known: dict[str, int]) -> int:
    """The value of a dim; as in the compiled code, a zero divisor counts as 1."""
    try:
        return compute_value(dim, known, OPERATIONS)
    except KeyError as error:
        raise AssertionError(f"{dim} must depend on {sorted(known)} only") from error
