"""Inputs of strings that a model only looks up: the session receives a code for each string, which Arrow computes.

A look-up, such as LabelEncoder, depends only on the string.  Its results for all strings that it knows, and for one that it does
not know, are the rows of a table, and a Gather of rows by the codes replaces the node.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Graph, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.build import attribute
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ops.registry import find
from sardonyx._src.rewrite.support.evaluate import evaluate_node

Vocabulary = tuple[str, ...]
MAX_TABLE_BYTES = 16 << 20
MIN_IR_VERSION = 4  # the first IR version in which initializers need not be inputs


def with_text_codes(model: Model) -> tuple[Model, dict[str, Vocabulary]]:
    """A copy of a model whose inputs of strings receive codes, int64, if only look-ups read them; and the vocabularies by input.

    The code of a string is its index in the vocabulary; the code of all other strings is the length of the vocabulary.
    """
    is_known = model.ir_version >= MIN_IR_VERSION and "" in model.opset_imports and not model.training
    if not is_known or not any(is_text_input(value) for value in model.graph.inputs):
        return model, {}
    result = clone(model)
    vocabularies: dict[str, Vocabulary] = {}
    for index, value in enumerate(result.graph.inputs):
        vocabulary = vocabulary_of(value, result.graph)
        tables = [table_of(node, vocabulary, result) for node, _ in value.uses] if vocabulary else []
        complete = [table for table in tables if table is not None]
        if vocabulary and len(complete) == len(tables):
            replace_lookups(result.graph, index, value, complete)
            vocabularies[value.name] = vocabulary
    return (result, vocabularies) if vocabularies else (model, {})


def is_text_input(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype is DataType.STRING


def vocabulary_of(value: Value, graph: Graph) -> Vocabulary:
    """The keys of all look-ups of an input; empty if the input has a default, or uses that are no look-ups."""
    readers = [node for node, _ in value.uses]
    if not is_text_input(value) or value.initializer is not None or value.is_graph_output:
        return ()
    if any(node.graph is not graph or not key_attributes(node) for node in readers):
        return ()
    return tuple(dict.fromkeys(key for node in readers for key in keys_of(node)))


def key_attributes(node: Node) -> tuple[str, ...]:
    """The names of the attributes with the strings that a look-up knows; empty for other operators."""
    op = find(node.domain, node.op_type)
    return () if op is None else op.string_keys


def keys_of(node: Node) -> list[str]:
    """The strings that a look-up knows."""
    keys: list[str] = []
    for name in key_attributes(node):
        stated = node.attributes[name].value if name in node.attributes else ()
        if isinstance(stated, Tensor):
            keys += stated.numpy().reshape(-1).tolist()
        elif isinstance(stated, Sequence):
            keys += [key.decode() if isinstance(key, bytes) else str(key) for key in stated]
    return keys


def table_of(node: Node, vocabulary: Vocabulary, model: Model) -> Array | None:
    """The results of a look-up for each string of a vocabulary, and for an unknown string.

    None if the results are strings, if the look-up fails, or if the table would be large.
    """
    other = "?"
    while other in vocabulary:
        other += "?"
    texts: Array = np.array([*vocabulary, other], object)
    results = evaluate_node(node, model.opset_imports, [Tensor.of(texts)])
    table = results[0] if results else None
    if not isinstance(table, np.ndarray) or table.dtype == object or table.nbytes > MAX_TABLE_BYTES:
        return None
    return table


def replace_lookups(graph: Graph, index: int, value: Value, tables: Sequence[Array]) -> None:
    """Replace an input of strings by one of codes, and its look-ups by Gathers of rows of their tables."""
    assert isinstance(value.type, TensorType), "inputs of strings are tensors"
    codes = Value(value.name, TensorType(DataType.INT64, value.type.shape))
    names = FreshNames.of_graphs([graph])
    for (node, _), table in zip(value.uses, tables, strict=True):
        tensor = Tensor.of(table, name=names.fresh(f"{value.name}_table"))
        rows = Value(tensor.name, TensorType(tensor.dtype, tensor.shape))
        rows.initializer = tensor
        graph.add_initializer(rows)
        gather = Node("Gather", [rows, codes], [Value("")], {"axis": attribute("axis", 0)})
        graph.insert_before(node, gather)
        gather.take_output(0, node.outputs[0])
        graph.remove(node)
    graph.remove_input(value)
    graph.add_input(codes, index)
