"""Details of a file give way to edits, cost other models nothing, and can be dropped on request."""

from __future__ import annotations

from pathlib import Path

import pytest

import sardonyx as sx
from complete_model import complete_function, complete_model, float_type, info, main_graph
from models import parse_record
from sardonyx._src.cli.main import main
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import JsonError
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.model import clone
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.tools.rename import Renaming, rename

UNKNOWN = b"\x98\x3f\x05"


def identity_model(ir_version: int = 8) -> m.ModelProto:
    record = parse_record("g (float[N,2] x) => (float[N,2] y) { t = Neg(x)  y = Neg(t) }")
    record.ir_version = ir_version
    return record


def graph_of(record: m.ModelProto) -> m.GraphProto:
    assert record.graph is not None
    return record.graph


def shape_of(record: m.ValueInfoProto) -> m.TensorShapeProto:
    assert record.type is not None
    assert record.type.tensor_type is not None
    assert record.type.tensor_type.shape is not None
    return record.type.tensor_type.shape


def saved(model: sx.Model) -> m.ModelProto:
    return decode(encode(to_proto.model(model)), m.ModelProto)


# --- edits -----------------------------------------------------------------------------------


def test_a_new_size_takes_precedence_over_minus_one() -> None:
    record = identity_model()
    shape_of(graph_of(record).input[0]).dim[0] = m.TensorShapeProtoDimension(dim_value=-1)
    model = sx.load(record)
    assert shape_of(graph_of(saved(model)).input[0]).dim[0].dim_value == -1
    model.graph.inputs[0].type = TensorType(DataType.FLOAT, (5, 2))
    assert [d.dim_value for d in shape_of(graph_of(saved(model)).input[0]).dim] == [5, 2]


def test_details_of_sizes_are_dropped_with_the_rank() -> None:
    record = identity_model()
    shape_of(graph_of(record).input[0]).dim[1].add_unknown(UNKNOWN)
    model = sx.load(record)
    model.graph.inputs[0].type = TensorType(DataType.FLOAT, (2,))
    assert [d.unknown for d in shape_of(graph_of(saved(model)).input[0]).dim] == [[]]


@pytest.mark.parametrize("new_type", [TensorType(DataType.FLOAT, (2,)), TensorType(DataType.FLOAT), None])
def test_unknown_fields_that_are_dropped_with_a_rank_are_noted_once(new_type: TensorType | None) -> None:
    record = identity_model()
    shape_of(graph_of(record).input[0]).dim[1].add_unknown(UNKNOWN)
    model = sx.load(record)
    saved(model)
    assert model.notes == []
    model.graph.inputs[0].type = new_type
    saved(model), saved(model)
    what = "unknown fields of the type of 'x' are left out: its shape or kind has changed"
    assert [str(note) for note in model.notes] == [f"value_info: {what}"]


def test_unknown_fields_of_a_second_declaration_are_noted_after_a_renaming() -> None:
    record = identity_model()
    second = decode(encode(graph_of(record).input[0]), m.ValueInfoProto)
    shape_of(second).dim[1].add_unknown(UNKNOWN)
    graph_of(record).value_info.append(second)
    model = rename(sx.load(record), Renaming(values={"x": "z"}))
    assert shape_of(graph_of(saved(model)).value_info[0]).dim[1].unknown == [UNKNOWN]
    assert model.notes == []
    model.graph.inputs[0].type = TensorType(DataType.FLOAT, (2,))
    saved(model)
    assert [note.message for note in model.notes] == [
        "unknown fields of the type of 'z' are left out: its shape or kind has changed"
    ]


def test_unknown_fields_that_are_dropped_in_a_branch_are_noted() -> None:
    record = parse_record(
        "g (bool c, float[N,2] x) => (float[N,2] y) { y = If(c) "
        "<then_branch = b () => (float[N,2] u) { t = Neg(x) u = Neg(t) }, "
        "else_branch = e () => (float[N,2] v) { v = Neg(x) }> }"
    )
    body = graph_of(record).node[0].attribute[0].g
    assert body is not None
    shape_of(body.output[0]).dim[1].add_unknown(UNKNOWN)
    model = sx.load(record)
    (branch_graph, _) = next(iter(model.graph.nodes)).subgraphs
    branch_graph.outputs[0].type = TensorType(DataType.FLOAT, (2,))
    saved(model)
    assert [note.location for note in model.notes] == ["node[0] (If).then_branch.value_info"]


def test_a_changed_size_drops_no_unknown_fields() -> None:
    record = identity_model()
    shape_of(graph_of(record).input[0]).dim[1].add_unknown(UNKNOWN)
    model = sx.load(record)
    model.graph.inputs[0].type = TensorType(DataType.FLOAT, (7, 3))
    assert shape_of(graph_of(saved(model)).input[0]).dim[1].unknown == [UNKNOWN]
    assert model.notes == []


def test_unknown_fields_do_not_make_types_unequal() -> None:
    record = identity_model()
    shape_of(graph_of(record).input[0]).add_unknown(UNKNOWN)
    model = sx.load(record)
    assert model.graph.inputs[0].type == model.graph.outputs[0].type


def test_a_type_without_elements_stays_until_the_value_has_a_type() -> None:
    record = identity_model()
    shapeless = m.TypeProto(tensor_type=m.TypeProtoTensor(shape=m.TensorShapeProto()))
    graph_of(record).value_info = [info("t", shapeless)]
    model = sx.load(record)
    assert saved(model) == record
    value = next(iter(model.graph.nodes)).outputs[0]
    value.type = TensorType(DataType.FLOAT)
    assert graph_of(saved(model)).value_info == [
        info("t", m.TypeProto(tensor_type=m.TypeProtoTensor(elem_type=1)))
    ]


def test_a_second_declaration_follows_the_type_of_its_value() -> None:
    record = identity_model()
    again = info("y")
    again.doc_string = "again"
    graph_of(record).value_info = [again]
    model = sx.load(record)
    assert saved(model) == record
    model.graph.outputs[0].type = TensorType(DataType.FLOAT, (3, 2))
    (entry,) = graph_of(saved(model)).value_info
    assert (entry.type, entry.doc_string) == (float_type(3, 2), "again")


def test_entries_of_removed_values_are_not_written() -> None:
    record = identity_model()
    graph_of(record).value_info = [info("t")]
    model = sx.load(record)
    first, second = model.graph.nodes
    second.set_input(0, model.graph.inputs[0])
    model.graph.remove(first)
    assert graph_of(saved(model)).value_info == []


def test_entries_follow_renamed_values() -> None:
    record = identity_model()
    again = m.ValueInfoProto(name="y", doc_string="again")
    graph_of(record).value_info = [again, info("t")]
    renamed = rename(sx.load(record), Renaming(values={"y": "z", "t": "u"}))
    assert graph_of(saved(renamed)).value_info == [m.ValueInfoProto(name="z", doc_string="again"), info("u")]


def test_each_of_repeated_imports_is_spelled_as_it_was() -> None:
    record = identity_model()
    record.opset_import = [
        m.OperatorSetIdProto(domain="", version=13),
        m.OperatorSetIdProto(version=13),
        m.OperatorSetIdProto(domain="ai.onnx", version=13),
    ]
    record.opset_import[1].add_unknown_fields([UNKNOWN])
    model = sx.load(record)
    assert encode(to_proto.model(model)) == encode(record)
    model.opset_imports[""] = 14
    assert saved(model).opset_import == [m.OperatorSetIdProto(domain="ai.onnx", version=14)]


def test_repeated_imports_give_way_to_a_new_version() -> None:
    record = identity_model()
    record.opset_import = [m.OperatorSetIdProto(version=13), m.OperatorSetIdProto(version=13)]
    model = sx.load(record)
    assert saved(model) == record
    model.opset_imports[""] = 14
    assert saved(model).opset_import == [m.OperatorSetIdProto(version=14)]


def test_new_metadata_leaves_the_details_of_the_others() -> None:
    record = identity_model()
    record.metadata_props = [m.StringStringEntryProto(key="a", value="b")]
    record.metadata_props[0].add_unknown(UNKNOWN)
    model = sx.load(record)
    model.metadata = {"first": "", **model.metadata}
    assert [entry.unknown for entry in saved(model).metadata_props] == [[], [UNKNOWN]]


def test_a_copy_has_the_details_of_the_original() -> None:
    record = complete_model()
    graph_of(record).initializer = graph_of(record).initializer[:1]  # without the external one
    graph_of(record).node[1].input[1] = "w"
    shape_of(graph_of(record).input[0]).dim[0].add_unknown(UNKNOWN)
    assert saved(clone(sx.load(record))) == record


# --- models without details -------------------------------------------------------------------


def test_objects_of_ordinary_files_have_no_details() -> None:
    model = sx.load(identity_model())
    assert model.details is None
    assert [node.details for node in model.graph.nodes] == [None, None]
    assert model.graph.inputs[0].details is None
    assert model.graph.declarations is None


def test_nodes_that_state_the_same_defaults_share_their_details() -> None:
    record = identity_model()
    for node in graph_of(record).node:
        node.doc_string = ""
    first, second = sx.load(record).graph.nodes
    assert first.details is second.details is not None


# --- functions -------------------------------------------------------------------------------


def model_with_function(ir_version: int) -> m.ModelProto:
    record = identity_model(ir_version)
    record.opset_import.append(m.OperatorSetIdProto(domain="com.example", version=1))
    body = complete_function()
    body.value_info, body.metadata_props = [], []
    body.clear("overload")
    record.functions = [body]
    graph_of(record).node[0] = m.NodeProto(
        input=["x", "x", "x"], output=["t"], op_type="Op", domain="com.example"
    )
    return record


@pytest.mark.parametrize(("ir_version", "has_types"), [(9, False), (10, True)])
def test_functions_below_ir_version_10_have_no_inferred_types(
    ir_version: int, has_types: bool, tmp_path: Path
) -> None:
    source, target = tmp_path / "m.onnx", tmp_path / "typed.onnx"
    source.write_bytes(encode(model_with_function(ir_version)))
    assert main(["infer", str(source), "-o", str(target)]) == 0
    (function,) = decode(target.read_bytes(), m.ModelProto).functions
    assert bool(function.value_info) == has_types


def test_types_that_a_function_of_an_old_version_has_are_kept() -> None:
    record = model_with_function(8)
    record.functions[0].value_info = [info("g")]
    assert saved(sx.load(record)) == record


def test_inferred_types_inside_functions_do_not_raise_the_ir_version() -> None:
    model = sx.load(model_with_function(9))
    sx.infer(model)
    assert sx.convert(model, ir_version=9).ir_version == 9


# --- sparse initializers ---------------------------------------------------------------------


@pytest.mark.parametrize("declared", [False, True])
def test_stored_sparse_tensors_need_ir_version_6_and_declared_ones_8(declared: bool) -> None:
    record = identity_model()
    graph_of(record).sparse_initializer = main_graph().sparse_initializer
    if declared:
        graph_of(record).value_info = [info("sw", sparse_type())]
    assert sx.convert(sx.load(record), ir_version="auto").ir_version == (8 if declared else 6)


def sparse_type() -> m.TypeProto:
    shape = m.TensorShapeProto(dim=[m.TensorShapeProtoDimension(dim_value=3, denotation="DATA_BATCH")])
    return m.TypeProto(sparse_tensor_type=m.TypeProtoSparseTensor(elem_type=1, shape=shape))


# --- JSON and text ---------------------------------------------------------------------------


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    record = identity_model()
    graph_of(record).node[0].add_unknown(UNKNOWN)
    path = tmp_path / "m.onnx"
    path.write_bytes(encode(record))
    return path


def test_json_names_the_option_that_drops_unknown_fields(model_file: Path) -> None:
    model = sx.load(model_file)
    with pytest.raises(JsonError, match="drop_unknown=True, or --drop-unknown on the command line"):
        sx.to_json(model)
    assert saved(sx.from_json(sx.to_json(model, drop_unknown=True))) == identity_model()
    assert sx.load(model_file).graph.nodes[0].details is not None


def test_text_has_unknown_fields_unless_they_are_dropped(model_file: Path) -> None:
    model = sx.load(model_file)
    assert saved(sx.from_text(sx.to_text(model))) == decode(model_file.read_bytes(), m.ModelProto)
    assert saved(sx.from_text(sx.to_text(model, drop_unknown=True))) == identity_model()


@pytest.mark.parametrize("suffix", ["json", "onnxtxt", "onnx"])
def test_saving_drops_unknown_fields_on_request(model_file: Path, suffix: str) -> None:
    target = model_file.with_name(f"out.{suffix}")
    sx.save(sx.load(model_file), target, drop_unknown=True)
    assert saved(sx.load(target)) == identity_model()


@pytest.mark.parametrize(
    "words", [["convert", "--ir-version", "8"], ["infer"], ["optimize"], ["rename", "--value", "t=u"]]
)
def test_verbs_drop_unknown_fields_on_request(words: list[str], model_file: Path) -> None:
    target = model_file.with_name("out.json")
    verb, *options = words
    command = [verb, str(model_file), *options, "-o", str(target)]
    assert main([*command, "--drop-unknown"]) == 0
    assert target.exists()
    target.unlink()
    if verb != "optimize":  # which may have replaced the node
        assert main(command) == 1
