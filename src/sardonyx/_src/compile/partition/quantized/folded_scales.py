"""Folds divisions by constant scales in an epilogue, and drops the operands that the new expression no longer reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Scalar, Select, topological_order
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.partition import FusedEpilogue, Read, Scope
from sardonyx._src.compile.partition.quantized.integer_epilogues import KernelExpression, KernelOperand
from sardonyx._src.compile.partition.quantized.requantization import RequantizationFolder, ScaledAccumulator


def fold_scales(
    scope: Scope, scaled: ScaledAccumulator, result: KernelExpression, fused: FusedEpilogue
) -> tuple[KernelExpression, FusedEpilogue]:
    """Folds the scales of an epilogue whose innermost expression is `scaled`, with the operands of `result`."""
    epilogue, own = fused.epilogue, len(result.operands)
    assert isinstance(epilogue, IntegerEpilogue), "an integer kernel has an integer epilogue"
    names = [f"o{i}" for i in range(len(epilogue.operand_types))]
    reads = dict(zip(names[own:], fused.reads, strict=True))
    folder = RequantizationFolder(
        scaled, constant_scalars(scope, reads), dict(zip(names, epilogue.operand_types, strict=True))
    )
    expression = folder.rewrite(epilogue.expression)
    added = {f"c{i}": operand for i, operand in enumerate(folder.operands)}
    used = {node.name for node in topological_order(expression) if isinstance(node, Local)}
    kernel = {**dict(zip(names[:own], result.operands, strict=True)), **added}
    kernel = {name: operand for name, operand in kernel.items() if name in used}
    kept = [i for i, name in enumerate(names) if i >= own and name in used]
    new_epilogue = replace(
        select_operands(epilogue, expression, kernel, kept),
        has_bounded_quotient=folder.has_bounded_quotient(expression),
    )
    folded = replace(
        fused,
        epilogue=new_epilogue,
        reads=tuple(fused.reads[i - own] for i in kept),
        shapes=tuple(fused.shapes[i - own] for i in kept),
    )
    return replace(result, operands=tuple(kernel.values())), folded


def constant_scalars(scope: Scope, reads: Mapping[str, Read]) -> dict[str, float]:
    """The constants of one element among the operands, by name."""
    arrays = {name: scope.constant(read.value) for name, read in reads.items()}
    return {
        name: float(array.item()) for name, array in arrays.items() if array is not None and array.size == 1
    }


def select_operands(
    epilogue: IntegerEpilogue, expression: Scalar, kernel: Mapping[str, KernelOperand], kept: list[int]
) -> IntegerEpilogue:
    """The epilogue of an expression of the kernel's own operands, and of the fused operands with the indices `kept`."""
    order = [*kernel, *(f"o{i}" for i in kept)]
    own = kernel.values()
    return IntegerEpilogue(
        rename(expression, {name: Local(f"o{i}") for i, name in enumerate(order)}),
        (*(operand.layout for operand in own), *(epilogue.operand_layouts[i] for i in kept)),
        (*(operand.dtype for operand in own), *(epilogue.operand_types[i] for i in kept)),
        epilogue.result_dtype,
        tuple(i for i, operand in enumerate(own) if operand.is_row),
    )


def rename(expression: Scalar, names: Mapping[str, Local]) -> Scalar:
    """An expression with other names; subexpressions that are one object remain one."""
    renamed: dict[int, Scalar] = {}
    for node in reversed(list(topological_order(expression))):
        match node:
            case Local(name=name):
                renamed[id(node)] = names.get(name, node)
            case Apply(op=op, args=args):
                renamed[id(node)] = Apply(op, tuple(renamed[id(arg)] for arg in args))
            case Cast(dtype=dtype, value=value):
                renamed[id(node)] = Cast(dtype, renamed[id(value)])
            case Select():
                operands = (node.a, node.b, node.then, node.otherwise)
                renamed[id(node)] = Select(node.op, *(renamed[id(operand)] for operand in operands))
            case _:
                renamed[id(node)] = node
    return renamed[id(expression)]
