"""Fused calls of the fast path: a chain of fallback operations from strings to their word counts becomes one call.

Such a chain is [Reshape] [StringNormalizer] Tokenizer TfIdfVectorizer (`ops/text/word_chains.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sardonyx._src.compile.program.steps.program import Action, BindSizes, CopyIn, FallbackOp
from sardonyx._src.interp.steps import NodeStep
from sardonyx._src.ir import Node, Value
from sardonyx._src.ops.registry import find
from sardonyx._src.ops.text.word_chains import MAX_NODES, CountWords, match_chain


@dataclass(frozen=True, slots=True)
class FusedChain:
    """A chain of fallback operations.

    records: the indices of the operations among the program's actions.
    source: the value that the first operation reads.
    kernel: computes the result of the last operation from the source.
    is_read_once: whether only one action reads that result.
    """

    records: tuple[int, ...]
    source: Value
    kernel: CountWords
    is_read_once: bool


def find_chains(
    actions: Sequence[Action],
    steps: Mapping[Node, NodeStep],
    constants: Mapping[Value, object],
    outputs: Sequence[Value],
    ranks: Mapping[Value, int],
    limit: int,
) -> Iterator[FusedChain]:
    """The chains among the actions of a program, if nothing else reads the values between their operations.

    steps: the reference kernel of each node.
    outputs: the outputs of the program.
    ranks: the known ranks of its inputs.
    limit: the largest number of characters of all strings.
    """
    nodes = {a.node.outputs[0]: a.node for a in actions if isinstance(a, FallbackOp)}
    records = {a.node: i for i, a in enumerate(actions) if isinstance(a, FallbackOp)}
    reads = Counter(outputs)
    for action in actions:
        reads.update(values_read(action))
    for last in filter(ends_chain, records):
        chain = [last]
        while len(chain) < MAX_NODES and (value := chain[0].inputs[0]) in nodes and reads[value] == 1:
            chain.insert(0, nodes[value])
        match = match_chain(chain, [steps[node].attributes for node in chain], constants, ranks, limit)
        source = None if match is None else chain[match[0]].inputs[0]
        if match is not None and source is not None:
            first, kernel = match
            is_read_once = reads[last.outputs[0]] == 1
            yield FusedChain(tuple(records[node] for node in chain[first:]), source, kernel, is_read_once)


def ends_chain(node: Node) -> bool:
    """Whether a chain may end at a node."""
    op = find(node.domain, node.op_type)
    return op is not None and op.ends_word_chain


def values_read(action: Action) -> Iterator[Value]:
    """The values held by Python that an action reads."""
    if isinstance(action, FallbackOp):
        yield from (value for value in action.node.inputs if value is not None)
    elif isinstance(action, CopyIn | BindSizes):
        yield action.value
