"""Nested graphs: as deep as the decoder allows, and in linear time if they are unsorted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import load_record, only, parse_record
from sardonyx._src.errors import LimitError
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ir.verify import verify
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode

LEVELS = 127  # nested graphs, without the main graph; the decoder's limit is 128


def nested_branches(levels: int, *, is_sorted: bool = True) -> m.ModelProto:
    """Nested If nodes, `levels` deep; each graph defines a value that it uses, in the wrong order if it is not sorted."""
    graph: m.GraphProto | None = None
    for i in range(levels, -1, -1):
        use = m.NodeProto(op_type="Neg", input=[f"a{i}"], output=[f"b{i}"])
        nodes = [m.NodeProto(op_type="Abs", input=["x"], output=[f"a{i}"])]
        nodes.insert(len(nodes) if is_sorted else 0, use)
        if graph is not None:
            orelse = m.GraphProto(
                name="e",
                node=[m.NodeProto(op_type="Neg", input=["x"], output=[f"e{i}"])],
                output=[m.ValueInfoProto(name=f"e{i}")],
            )
            branches = [
                m.AttributeProto(name="then_branch", type=5, g=graph),
                m.AttributeProto(name="else_branch", type=5, g=orelse),
            ]
            nodes.insert(0, m.NodeProto(op_type="If", input=["c"], output=[f"y{i}"], attribute=branches))
        output = f"b{i}" if graph is None else f"y{i}"
        graph = m.GraphProto(name=f"g{i}", node=nodes, output=[m.ValueInfoProto(name=output)])
    assert graph is not None
    dim = m.TensorShapeProtoDimension(dim_value=1)
    kinds = {
        "c": m.TypeProtoTensor(elem_type=9, shape=m.TensorShapeProto()),
        "x": m.TypeProtoTensor(elem_type=1, shape=m.TensorShapeProto(dim=[dim])),
    }
    graph.input = [m.ValueInfoProto(name=n, type=m.TypeProto(tensor_type=t)) for n, t in kinds.items()]
    return m.ModelProto(ir_version=10, opset_import=[m.OperatorSetIdProto(version=21)], graph=graph)


def test_the_deepest_model_that_decodes_is_loaded_run_and_saved(tmp_path: Path) -> None:
    model = sx.load(encode(nested_branches(LEVELS)))
    with pytest.warns(sx.CompilerWarning, match="nested deeper"):
        session = sx.Session(model)
    out = session.run({"c": True, "x": np.ones(1, np.float32)})
    assert np.asarray(out["y0"]).tolist() == [-1]
    sx.save(model, tmp_path / "m.onnx")
    assert sx.to_json(sx.load(tmp_path / "m.onnx")) == sx.to_json(model)
    assert sx.to_json(sx.from_json(sx.to_json(model))) == sx.to_json(model)
    assert sx.to_text(sx.from_text(sx.to_text(model))) == sx.to_text(model)


def test_one_level_more_is_refused() -> None:
    with pytest.raises(LimitError, match="limit `nesting`"):
        sx.load(encode(nested_branches(LEVELS + 1)))


def test_a_record_deeper_than_the_stack_is_refused() -> None:
    with pytest.raises(LimitError, match="nested deeper than Python's recursion limit"):
        sx.load(nested_branches(400))


def test_a_model_deeper_than_the_stack_is_refused_when_it_is_saved(tmp_path: Path) -> None:
    b = GraphBuilder(opset=21)
    x = b.input("x", sx.DataType.FLOAT, [1])
    graph = b.graph
    for i in range(400):
        inner = GraphBuilder(opset=21)
        inner.output(inner.Neg(x), f"y{i}")
        outer = GraphBuilder(opset=21, graph=graph)
        orelse = GraphBuilder(opset=21)
        orelse.output(orelse.Neg(x), f"z{i}")
        outer.If(x, then_branch=inner.graph, else_branch=orelse.graph)
        graph = inner.graph
    with pytest.raises(LimitError, match="nested deeper"):
        sx.save(b.model(), tmp_path / "m.onnx")
    with pytest.raises(LimitError, match="nested deeper"):
        sx.Session(b.model())
    assert list(tmp_path.iterdir()) == []


def test_graphs_that_are_all_unsorted_are_each_sorted_once() -> None:
    model = sx.load(encode(nested_branches(40, is_sorted=False)))  # sorting twice per level would take days
    assert len(model.notes) == 41
    assert {note.message for note in model.notes} == {"nodes precede the producers of their inputs: sorted"}
    verify(model)


def test_nothing_is_left_of_a_branch_that_was_read_before_the_graph_was_sorted() -> None:
    model = load_record(
        parse_record("""
        g (bool c, float[2] x) => (float[2] y) {
          y = If(c) <then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Abs(a) }>
          a = Exp(x)
        }""")
    )
    x = model.graph.inputs[1]
    assert sorted(node.op_type for node, _ in x.uses) == ["Exp", "Neg"]
    assert only(model.graph, "If").attributes["else_branch"].graphs[0].parent is not None


def test_what_an_abandoned_attempt_noted_is_noted_once() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { b = Abs(x)  y = Neg(a)  a = Abs(x) }")
    assert record.graph is not None
    record.graph.node[0].metadata_props = [m.StringStringEntryProto(key="k", value=v) for v in "ab"]
    assert [str(note).partition(": ")[2] for note in load_record(record).notes] == [
        "metadata key 'k' occurs twice: the last value applies",
        "nodes precede the producers of their inputs: sorted",
    ]


def test_a_long_chain_of_functions_is_visited_once() -> None:
    record = parse_record("g (float[1] x) => (float[1] y) { y = l.f0(x) }", more='"l": 1')
    imports = [m.OperatorSetIdProto(domain="l", version=1)]
    record.functions = [
        m.FunctionProto(
            name=f"f{i}",
            domain="l",
            input=["a"],
            output=["b"],
            opset_import=imports,
            node=[m.NodeProto(domain="l", op_type=f"f{(i + 1) % 5000}", input=["a"], output=["b"])],
        )
        for i in range(5000)
    ]
    with pytest.raises(sx.InvalidModel, match=r"recursive; got f0 -> f1 .* -> f0$"):
        sx.load(record)


def test_no_similar_name_is_searched_among_huge_ones() -> None:
    long = "x" * 100_000
    record = parse_record("g (float[2] x) => (float[2] y) { y = Abs(x) }")
    assert record.graph is not None
    record.graph.input[0].name = long
    record.graph.node[0].input = [long[:-1] + "y"]
    with pytest.raises(sx.InvalidModel) as caught:
        load_record(record)
    assert "did you mean" not in str(caught.value)
