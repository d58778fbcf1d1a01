"""In-place outputs: an output that a run may write in the memory of an input, as a cache that a decoder updates.

Such an output is a copy of the input in which later steps replace elements.  Where a caller passes the memory of the input
for it, the copy does nothing.  What must be proved of the steps:

- The input is read by the copy alone, so that no step reads elements that have been replaced.
- Steps that write the output before the copy write no elements, as those that pad a cache of the right size.
- Steps that write it after the copy are insertions, which do not read it, and all steps that read it come later.

So a run that ends early, and is then repeated on the same memory, computes the same elements: whichever of them were
replaced are replaced again, by equal ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.program import Buffer, Guard, Step, TensorView
from sardonyx._src.compile.program.steps.guards import can_hold
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.compile.program.steps.step import KernelArgument, TensorAddress
from sardonyx._src.compile.program.verification.size_facts import SizeFacts
from sardonyx._src.compile.program.verification.verify_in_place import has_equal_strides, rewrite


def find_in_place_outputs(program: Program) -> dict[str, str]:
    """By the name of each output that may be written in the memory of an input, if its shape is the input's: this input.

    None if the program has actions in Python, loops or branches.
    """
    steps = program.steps
    if len(steps) < len(program.actions) or any(step.jump is not None for step in steps):
        return {}
    fed = {tensor.buffer: (value.name, tensor) for value, tensor in program.inputs.items()}
    results = [tensor.buffer for tensor in program.outputs.values() if tensor is not None]
    pairs: dict[str, str] = {}
    for value, output in program.outputs.items():
        if output is None or output.buffer.role != "output" or results.count(output.buffer) > 1:
            continue
        source = copied_input(steps, output.buffer)
        if source in fed and source not in results and len(fed) == len(program.inputs):
            name, operand = fed[source]
            if can_update(program, steps, operand, output):
                pairs[value.name] = name
    return pairs


def copied_input(steps: Sequence[Step], output: Buffer) -> Buffer | None:
    """The buffer of the input that the first copy into an output copies."""
    copies = (step for step in steps if step.is_copy and step.writes[0].buffer is output)
    sources = (step.reads[0].buffer for step in copies)
    return next((source for source in sources if source.role == "input"), None)


def can_update(program: Program, steps: Sequence[Step], operand: TensorView, output: TensorView) -> bool:
    """Whether the steps compute the same output in the memory of an input, which has the output's shape."""
    readers = [i for i, step in enumerate(steps) if reads(step, operand.buffer)]
    writers = [i for i, step in enumerate(steps) if writes(step, output.buffer)]
    if len(readers) != 1 or operand.rank != output.rank or operand.dtype is not output.dtype:
        return False
    shapes = [Guard.of(a, b) for a, b in zip(operand.shape, output.shape, strict=True)]
    if not all(map(can_hold, shapes)):
        return False
    facts, number = SizeFacts((*program.guards, *shapes)), readers[0]
    return (
        copies_all(steps[number], operand, output, facts)
        and all(is_empty(steps[i], output.buffer, facts) for i in writers if i < number)
        and all(inserts_only(steps[i], output.buffer) for i in writers if i > number)
        and not any(reads(steps[i], output.buffer) for i in range(max(writers)) if i not in writers)
    )


def copies_all(step: Step, operand: TensorView, output: TensorView, facts: SizeFacts) -> bool:
    """Whether a step copies all of an input to the same place in an output."""
    if not step.is_copy or step.writes[0].buffer is not output.buffer:
        return False
    source, target, whole, result = (
        rewrite(view, facts) for view in (step.reads[0], step.writes[0], operand, output)
    )
    is_whole = all(
        view.is_dense and view.offset == 0 and facts.are_equal(view.num_elements, whole.num_elements)
        for view in (source, target, whole, result)
    )
    return is_whole and has_equal_strides(source, target)


def is_empty(step: Step, buffer: Buffer, facts: SizeFacts) -> bool:
    """Whether a step provably writes no element of a buffer."""
    written = [view for view in step.writes if view.buffer is buffer]
    return all(facts.rewrite(view.num_elements) == 0 for view in written)


def inserts_only(step: Step, buffer: Buffer) -> bool:
    """Whether a step only replaces elements of a buffer, by elements of others."""
    return step.is_insertion and sum(view.buffer is buffer for view in step.reads) == 1


def reads(step: Step, buffer: Buffer) -> bool:
    """Whether a step may read a buffer: it says so, or has a view of it as an argument that it does not only write."""
    is_argument = not writes(step, buffer) and any(buffer_of(argument) is buffer for argument in step.args)
    return is_argument or any(view.buffer is buffer for view in step.reads)


def writes(step: Step, buffer: Buffer) -> bool:
    return any(view.buffer is buffer for view in step.writes)


def buffer_of(argument: KernelArgument) -> Buffer | None:
    view = argument.tensor if isinstance(argument, TensorAddress) else argument
    return view.buffer if isinstance(view, TensorView) else None
