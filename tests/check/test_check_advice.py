"""Advice: legal but useless parts of models, opt-in style rules, and cases that are not reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from check.examples import model, write
from sardonyx._src.check import check
from sardonyx._src.check.driver.checking import GROUPS
from sardonyx._src.proto import messages as m

ZEROS = "{" + ", ".join(["0"] * 64) + "}"
IF = "If <then_branch = t () => (float[2] p) {{ {then} }}, else_branch = e () => (float[2] q) {{ q = Neg(x) }}> (c)"


def advice(text: str, **options: object) -> list[str]:
    every: dict[str, object] = {"select": GROUPS, "ignore": ["SX92"], **options}
    diagnostics = check(model(text), **every).diagnostics  # type: ignore[arg-type]
    return [f"{d.severity} {d.rule} {d.location}" for d in diagnostics]


def branch(then: str, more: str = "") -> str:
    return f"g (float[2] x, bool c) => (float[2] y) <float[2] w = {{1, 2}}> {{ {more} y = {IF.format(then=then)} }}"


def test_what_a_nested_graph_reads_is_used() -> None:
    assert advice(branch("p = Add(x, w)")) == []
    assert advice(branch("p = Abs(a)", "a = Add(x, w)")) == []
    assert advice(branch("p = Abs(x)")) == ['info SX901 graph.initializer[0] "w"']


def test_what_training_reads_or_assigns_is_used() -> None:
    text = """<training_info: [{algorithm: a (float[2] t) => (float[2] n) { n = Sub(w, t) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Abs(x) }"""
    assert advice(text) == []


def test_what_an_annotation_names_is_used() -> None:
    text = """g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "s"]}]}
        (float[2] x) => (float[2] y) <float s = {0.5}> { y = Abs(x) }"""
    assert advice(text) == []


def test_a_misspelled_name_makes_nothing_unused() -> None:
    text = "g (float[2] weights) => (float[2] y) { y = Abs(weight) }"
    assert advice(text) == ["error SX113 graph.node[0] (Abs).input[0]"]


def test_a_large_initializer_that_is_unused_is_a_warning() -> None:
    text = (
        "g @{initializer: [{name: 'w', dims: [1024, 256], data_type: 1, raw_data: hex '"
        + "00" * (1 << 20)
        + "'}]}"
    )
    text = text.replace("'", '"') + " (float[2] x) => (float[2] y) { y = Abs(x) }"
    assert advice(text) == ['warning SX901 graph.initializer[0] "w"']


def test_a_chain_that_leads_nowhere_is_reported_once() -> None:
    record = model("g (float[2] x) => (float[2] y) { a = Exp(x) b = Abs(a) y = Neg(x) }")
    (diagnostic,) = check(record, select=["SX902"]).diagnostics
    assert (diagnostic.rule, diagnostic.location) == ("SX902", "graph.node[0] (Exp)")
    assert "nor on 1 other nodes" in diagnostic.message


def test_an_unknown_operator_may_have_side_effects() -> None:
    text = '<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { z = com.example.Print(x) y = Abs(x) }'
    assert advice(text) == ["warning SX202 graph.node[0] (Print)"]


def test_inputs_that_an_operator_passes_need_not_be_read() -> None:
    text = """g (int64 n, bool c, float[2] x) => (float[2] y) {
        y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k) w = Abs(v) }> (n, c, x) }"""
    assert advice(text) == []


def test_equal_initializers_are_reported_whatever_field_holds_them() -> None:
    lists = f"g (float[64] x) => (float[64] y) <float[64] v = {ZEROS}, float[64] w = {ZEROS}> {{ a = Add(x, v) y = Add(a, w) }}"
    assert advice(lists) == ['info SX906 graph.initializer[1] "w"']
    raw = lists.replace(" = {0", " = raw_data: {0")
    assert advice(raw) == ['info SX906 graph.initializer[1] "w"']
    assert advice(lists.replace("0}, float", "1}, float")) == []


def test_equal_state_variables_are_not_reported() -> None:
    step = 'training_info: [{algorithm: a () => (float[64] n) { n = Neg(w) }, update_binding: ["w": "n"]}]'
    main = f"g (float[64] x) => (float[64] y) <float[64] v = {ZEROS}, float[64] w = {ZEROS}> {{ a = Add(x, v) y = Add(a, w) }}"
    assert advice(f'<ir_version: 10, opset_import: ["": 21], {step}> {main}') == []


def test_large_equal_initializers_are_a_warning() -> None:
    record = model("g (float[2] x) => (float[2] y, float[512, 512] v, float[512, 512] w) { y = Abs(x) }")
    assert record.graph is not None, "the text has one"
    record.graph.initializer = [
        m.TensorProto(name=name, dims=[512, 512], data_type=1, raw_data=b"\1" * (1 << 20)) for name in "vw"
    ]
    (diagnostic,) = check(record).diagnostics
    assert (diagnostic.rule, diagnostic.severity, diagnostic.location) == (
        "SX906",
        "warning",
        'graph.initializer[1] "w"',
    )


@pytest.mark.parametrize(
    ("first", "second", "is_reported"),
    [
        ("Softmax <axis = 0> (x)", "Softmax <axis = 0> (x)", True),
        ("Softmax <axis = 0> (x)", "Softmax <axis = -1> (x)", False),
        ("Bernoulli <seed = 1.0> (x)", "Bernoulli <seed = 1.0> (x)", False),
        ("Abs(x)", "Neg(x)", False),
    ],
)
def test_nodes_are_equal_by_operator_attributes_and_inputs(
    first: str, second: str, is_reported: bool
) -> None:
    text = f"g (float[2] x) => (float[2] y) {{ a = {first} b = {second} y = Add(a, b) }}"
    assert advice(text) == (
        ["info SX907 graph.node[1] (" + first.partition(" ")[0] + ")"] if is_reported else []
    )


def test_a_dropout_that_does_not_train_needs_no_seed() -> None:
    assert advice("g (float[2] x) => (float[2] y) { y = Dropout(x) }") == []
    training = "g (float[2] x, float r, bool t) => (float[2] y) { y = Dropout(x, r, t) }"
    assert advice(training) == ["info SX908 graph.node[0] (Dropout).attribute"]


def diagnose_files(lines: str, folder: Path) -> list[str]:
    path, _ = write(lines, folder)
    diagnostics = check(path, select=GROUPS, ignore=["SX92"]).diagnostics
    return [f"{d.severity} {d.rule}" for d in diagnostics]


def external(*tensors: str) -> str:
    outputs = ", ".join(t.partition(" =")[0] for t in tensors)
    return f"g () => ({outputs}) <{', '.join(tensors)}> {{}}"


def test_tensors_may_lie_on_the_same_bytes_or_inside_others(tmp_path: Path) -> None:
    same = external('float[2] v = ["location": "w.bin"]', 'float[2] w = ["location": "w.bin"]')
    assert diagnose_files(f"file w.bin 8\n{same}", tmp_path) == []
    inside = external('float[2] v = ["location": "w.bin"]', 'float[4] w = ["location": "w.bin"]')
    assert diagnose_files(f"file w.bin 16\n{inside}", tmp_path) == ["info SX909"]


@pytest.mark.parametrize("location", ["w.bin", "./w.bin", ".//./w.bin"])
def test_overlaps_are_found_however_the_file_is_spelled(tmp_path: Path, location: str) -> None:
    partly = external(
        'float[1025] v = ["location": "w.bin"]', f'float[2] w = ["location": "{location}", "offset": "4096"]'
    )
    assert "warning SX909" in diagnose_files(f"file w.bin 4108\n{partly}", tmp_path)


def test_every_overlapping_range_is_reported(tmp_path: Path) -> None:
    ranges = [(0, 1026), (4096, 1), (4100, 4), (4112, 2), (8192, 2)]  # offsets, and numbers of floats
    tensors = [
        f'float[{count}] w{i} = ["location": "w.bin", "offset": "{offset}"]'
        for i, (offset, count) in enumerate(ranges)
    ]
    reported = diagnose_files(f"file w.bin 8200\n{external(*tensors)}", tmp_path)
    assert [code for code in reported if "SX909" in code] == ["info SX909", "warning SX909", "warning SX909"]


def test_padding_before_an_aligned_offset_is_claimed(tmp_path: Path) -> None:
    both = external(
        'float[2] v = ["location": "w.bin"]', 'float[2] w = ["location": "w.bin", "offset": "4096"]'
    )
    assert diagnose_files(f"file w.bin 4104\n{both}", tmp_path) == []
    tensor = external('float[2] w = ["location": "w.bin", "offset": "8192"]')
    assert diagnose_files(f"file w.bin 8200\n{tensor}", tmp_path) == ["info SX910"]


def test_style_is_reported_on_request() -> None:
    text = '<doc_string: "<b>Cats</b>"> g (float[2] x) => (float[2] y) { y = Softmax <axis = 0> (x) }'
    assert check(model(text)).diagnostics == ()
    assert advice(text, select=["style"], ignore=["SX01"]) == [
        "info SX922 doc_string",
        'info SX921 graph.node[0] (Softmax).attribute[0] "axis".doc_string',
        "info SX920 graph.doc_string",
    ]
    assert advice(text, select=["SX920"], ignore=[]) == ["info SX920 graph.doc_string"]
    unwanted = ["graph-undocumented", "SX921", "SX01"]
    assert advice(text, select=["style"], ignore=unwanted) == ["info SX922 doc_string"]


@pytest.mark.parametrize("text", ["f(x) < g(x), x > 0", "a <N> by <M> table", "**bold** and `code`", "3 <b"])
def test_text_with_angles_is_no_markup(text: str) -> None:
    assert (
        advice(
            f'<doc_string: "{text}"> g (float[2] x) => (float[2] y) {{ y = Abs(x) }}',
            select=["SX922"],
            ignore=[],
        )
        == []
    )


@pytest.mark.parametrize(
    "text",
    [
        "<section>Cats</section>",
        "<!DOCTYPE html>",
        "<script>alert(1)</script>",
        r"\textbf{Cats}",
        ".. note:: cats",
        ":math:`x`",
        "[b]Cats[/b]",
    ],
)
def test_other_markup_than_markdown_is_reported(text: str) -> None:
    record = model('g @{doc_string: "d"} (float[2] x) => (float[2] y) { y = Abs(x) }')
    record.doc_string = text
    assert [d.rule for d in check(record, select=["style"]).diagnostics] == ["SX922"]


@pytest.mark.parametrize(
    "text", ["**Cats** `x`", "a < b > c", "vector<int>", "<http://a.b>", "$x^2$", "[a](b)"]
)
def test_markdown_is_not_reported(text: str) -> None:
    record = model('g @{doc_string: "d"} (float[2] x) => (float[2] y) { y = Abs(x) }')
    record.doc_string = text
    assert list(check(record, select=["style"]).diagnostics) == []
