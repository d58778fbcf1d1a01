"""Fixes: each violation is fixed as intended, nothing else is changed, and nothing is guessed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from check.damage import damage, seeds
from check.examples import model, write
from check.fix_cases import CASES
from conformance.test_shared_models import FOLDERS, MODELS, reference
from sardonyx._src.check import check, fix
from sardonyx._src.check.analysis.reads import bodies_of
from sardonyx._src.check.driver.checking import GROUPS
from sardonyx._src.check.driver.pages import page
from sardonyx._src.check.driver.sources import DocumentKind, read
from sardonyx._src.check.engine.registry import rules
from sardonyx._src.check.fixing.api import fixes, fixes_by_code
from sardonyx._src.measure.random_feeds import random_feeds
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.record import Record

DIGITS = Path(__file__).resolve().parents[2] / "examples/digits"


def write_example(example: str, folder: Path) -> tuple[Path, DocumentKind]:
    folder.mkdir()
    path, kind = write(example, folder)
    return path, kind  # type: ignore[return-value]


@pytest.mark.parametrize(("code", "bad", "good"), CASES, ids=[code for code, _, _ in CASES])
def test_a_violation_is_fixed(code: str, bad: str, good: str, tmp_path: Path) -> None:
    path, kind = write_example(bad, tmp_path / "bad")
    assert code in [d.rule for d in check(path, kind=kind, select=GROUPS).diagnostics]
    record, applied = fix(path, kind=kind)
    assert code in [applied_fix.rule for applied_fix in applied]
    assert all(applied_fix.did and applied_fix.name == page(applied_fix.rule).name for applied_fix in applied)
    expected, _ = read(*write_example(good, tmp_path / "good"), None)
    assert record == expected
    assert code not in [d.rule for d in check(record, kind=kind, base=path.parent, select=GROUPS).diagnostics]
    assert fix(record, kind=kind, base=path.parent)[1] == []


def test_every_code_with_a_fix_has_a_case() -> None:
    assert sorted(fixes_by_code()) == sorted(code for code, _, _ in CASES)
    assert fixes_by_code().keys() <= rules().keys()


def test_every_fix_has_a_title_that_the_pages_of_its_rules_show() -> None:
    for fix_ in fixes():
        assert all(f"Fix: {fix_.title}" in page(code).text() for code in fix_.codes)


@pytest.mark.parametrize("code", list(rules()))
def test_fixes_of_any_violation_come_to_an_end(code: str, tmp_path: Path) -> None:
    path, kind = write_example(page(code).bad, tmp_path / "bad")
    try:
        record, _ = fix(path, kind=kind)
    except sx.SardonyxError:
        return  # documents that do not decode cannot be fixed
    assert fix(record, kind=kind, base=path.parent)[1] == []


# --- unchanged ---------------------------------------------------------------------------------------


def left(text: str) -> list[str]:
    """The codes of the violations in a model that no fix changes."""
    record = model(text)
    fixed, applied = fix(record)
    assert applied == []
    assert fixed == record
    return [d.rule for d in check(record, select=GROUPS).diagnostics if d.severity != "info"]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("SX020", '<metadata_props: ["a.b": "1", "a.b": "2"]> g (float[2] x) => (float[2] y) { y = Abs(x) }'),
        (
            "SX103",
            "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] w = {3, 4}> { y = Add(x, w) }",
        ),
        ("SX235", "g (float[2] x) => (float[2] y) { y = Softmax <axis = 0, axis = -1> (x) }"),
        ("SX232", 'g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", f: 1.0, type: INT}> (x) }'),
        ("SX211", "g (float[2] x) => (float[2] y) { y = Softmax <axes = 0> (x) }"),
        ("SX110", "g (float[2] x) => (float[2] y) { y = Abs(x) y = Neg(x) }"),
        (
            "SX110",
            "g (float[2] x) => (float[2] y) { a = Abs(x) a = Constant <value_float = 1.0> () y = Add(x, a) }",
        ),
        (
            "SX110",
            "g (float[2] x) => (float[2] y) { a = Constant <value_float = 1.0> () a = Abs(x) y = Add(x, a) }",
        ),
        ("SX112", "g (float[2] x) => (float[2] y) { a = Abs(y) y = Neg(a) }"),
        ("SX102", "g (float[2] x) => (float[2] y, float[2] y) { y = Abs(x) }"),
        ("SX347", '<> g () => (float[2] y) <float[2] y = ["location": "w.bin", "lenght": "8"]> {}'),
    ],
)
def test_what_could_mean_two_things_is_left(code: str, text: str) -> None:
    assert code in left(text)


def test_an_import_is_not_guessed() -> None:
    record = model("g (float[2] x) => (float[2] y) { y = Softmax(x) }")
    record.clear("opset_import")
    assert fix(record)[1] == []
    assert [d.rule for d in check(record).of("error")] == ["SX030"]


def test_names_that_callers_use_are_kept() -> None:
    text = '<float[2] "w.0" = {1, 2}> { "a/b" = Add("x:0", "w.0") "y/out" = Abs("a/b") }'
    record, _ = fix(model(f'g (float[2] "x:0") => (float[2] "y/out") {text}'))
    assert isinstance(record, m.ModelProto) and record.graph is not None
    assert [value.name for value in (*record.graph.input, *record.graph.output)] == ["x:0", "y/out"]
    assert [tensor.name for tensor in record.graph.initializer] == ["w.0"]
    assert [list(node.output) for node in record.graph.node] == [["a_b"], ["y/out"]]


def test_names_in_training_are_kept() -> None:
    text = """<training_info: [{algorithm: a () => (float[2] n) { n = Neg("h/0") }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { "h/0" = Abs(w) y = Add(x, "h/0") }"""
    record, applied = fix(model(text))
    assert applied == []
    assert isinstance(record, m.ModelProto)
    assert sx.load(record).training[0].algorithm is not None


@pytest.mark.parametrize(
    "text",
    [
        '<ir_version: 3, opset_import: ["": 7]> g (float[n] x, float[n] z) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }',
        """<ir_version: 3, opset_import: ["": 7]> g (int64 n, bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
            y = Loop <body = b (int64 i, bool k, float[2] v, float[2] u) => (bool k2, float[2] o) <float[2] u = {1, 2}> {
            k2 = Identity(k) o = Add(v, u) }> (n, c, w) }""",
    ],
)
def test_a_version_is_not_raised_where_that_changes_what_a_model_means(text: str) -> None:
    record, _ = fix(model(text), select=["SX122"])
    assert isinstance(record, m.ModelProto)
    assert record.ir_version == 3


def test_what_is_not_selected_is_not_fixed() -> None:
    text = 'g (float[2] x) => (float[2] y) { [n] "a/b" = Abs(x) [n] y = Neg("a/b") }'
    assert [applied_fix.rule for applied_fix in fix(model(text), select=["SX119"])[1]] == ["SX119"]
    assert [applied_fix.rule for applied_fix in fix(model(text), ignore=["node-name-twice"])[1]] == ["SX130"]


def test_the_source_stays_as_it_is() -> None:
    record = model("g (float[2] x) => (float[2] y) { y = Neg(a) a = Abs(x) }")
    before = encode(record)
    fixed, applied = fix(record)
    assert len(applied) == 1
    assert encode(record) == before != encode(fixed)


def test_data_are_not_copied() -> None:
    record = model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Neg(a) a = Add(x, w) }")
    assert record.graph is not None
    record.graph.initializer[0] = m.TensorProto(
        name="w", dims=[2], data_type=1, raw_data=memoryview(bytes(8))
    )
    fixed, _ = fix(record)
    assert isinstance(fixed, m.ModelProto) and fixed.graph is not None
    assert fixed.graph.initializer[0].raw_data is record.graph.initializer[0].raw_data


def test_an_applied_fix_states_its_effect_and_location() -> None:
    _, (applied_fix,) = fix(model("g (float[2] x) => (float[2] y) { [n] a = Abs(x) [n] y = Neg(a) }"))
    assert str(applied_fix) == (
        """graph.node[1] "n" (Neg).name: fixed: SX119 node-name-twice: renamed the node from 'n' to 'n_1'"""
    )


# --- the fixed model computes the same ---------------------------------------------------------------


def shuffle_nodes(record: m.ModelProto, chance: random.Random) -> None:
    for _, body in bodies_of(record):
        nodes = list(body.node)
        chance.shuffle(nodes)
        body.node = nodes


def name_nodes_alike(record: m.ModelProto, chance: random.Random) -> None:
    for _, body in bodies_of(record):
        for node in body.node:
            node.name = chance.choice("nm")


def take_names_of_graphs(record: m.ModelProto, chance: random.Random) -> None:
    for _, body in bodies_of(record):
        if isinstance(body, m.GraphProto):
            body.name = chance.choice(("", "g"))


def litter_types(record: m.ModelProto, chance: random.Random) -> None:
    stray = m.ValueInfoProto(name="nothing", type=m.TypeProto(tensor_type=m.TypeProtoTensor(elem_type=1)))
    for _, body in bodies_of(record):
        if isinstance(body, m.GraphProto):
            border = [m.ValueInfoProto(name=value.name) for value in (*body.input, *body.output)]
            body.value_info = [*body.value_info, *body.value_info[:1], stray, *border]


def import_twice(record: m.ModelProto, chance: random.Random) -> None:
    record.opset_import = [m.OperatorSetIdProto(domain="ai.onnx", version=1), *record.opset_import]


def take_types_of_attributes(record: m.ModelProto, chance: random.Random) -> None:
    for _, body in bodies_of(record):
        for node in body.node:
            for attribute in node.attribute:
                if any(map(attribute.has, ("i", "ints", "t", "g"))):
                    attribute.type = chance.choice((0, 99))


def misspell_values(record: m.ModelProto, chance: random.Random) -> None:
    assert record.graph is not None
    inner = {name for node in record.graph.node for name in node.output if name}
    inner -= {value.name for value in record.graph.output}
    rename_everywhere(record.graph, {name: f"/{name}.{chance.randrange(3)}" for name in inner})


def rename_everywhere(graph: m.GraphProto, names: dict[str, str]) -> None:
    for node in graph.node:
        node.input = [names.get(name, name) for name in node.input]
        node.output = [names.get(name, name) for name in node.output]
        for attribute in node.attribute:
            if attribute.g is not None:
                rename_everywhere(attribute.g, names)
    for value in (*graph.value_info, *graph.output):
        value.name = names.get(value.name, value.name)


DAMAGES: tuple[Callable[[m.ModelProto, random.Random], None], ...] = (
    misspell_values,
    shuffle_nodes,
    name_nodes_alike,
    take_names_of_graphs,
    litter_types,
    import_twice,
    take_types_of_attributes,
)
SMALL = {
    "dtln_2",
    "genai_static_kv_op24",
    "gtcrn_simple",
    "mnist_8",
    "ort_nuphar_loop",
    "ort_scan_1",
    "silero_vad_v3",
    "ten_vad",
    "vespa_t5_decoder",
    "yunet_n_dynamic",
}


def sources() -> Iterator[str]:
    yield "digits"
    yield from (name for name in FOLDERS if name in SMALL)


def source(name: str) -> tuple[bytes, dict[str, object]]:
    if name == "digits":
        return (DIGITS / "digits.onnx").read_bytes(), {}
    return (MODELS / name / "model.onnx").read_bytes(), reference(MODELS / name)[0]


def answers(record: Record | bytes, feeds: dict[str, object]) -> dict[str, np.ndarray]:
    session = sx.Session(sx.load(record), engine="reference")  # type: ignore[arg-type]
    if not feeds:
        rng = np.random.default_rng(7)
        feeds = {p.name: rng.standard_normal((1, 64)).astype(np.float32) for p in session.inputs}
    return {name: np.asarray(value) for name, value in session.run(feeds).items()}


@pytest.mark.parametrize("name", list(sources()))
def test_a_damaged_model_that_is_fixed_computes_the_same(name: str) -> None:
    data, feeds = source(name)
    expected = answers(data, feeds)
    record = decode(data, m.ModelProto)
    sound = {d.rule for d in check(record).of("error")}
    chance = random.Random(5)
    for inflict in DAMAGES:
        inflict(record, chance)
    damaged = {d.rule for d in check(record).of("error")}
    assert damaged - sound >= {"SX111", "SX119", "SX231"}
    fixed, applied = fix(record)
    assert applied
    assert {d.rule for d in check(fixed).of("error")} <= sound
    actual = answers(fixed, feeds)
    assert actual.keys() == expected.keys()
    for output, value in expected.items():
        np.testing.assert_array_equal(actual[output], value)


def outcome(record: Record) -> object:
    """The outputs of a model for seeded feeds, or the error if it cannot be loaded or run."""
    assert isinstance(record, m.ModelProto)
    try:
        session = sx.Session(sx.load(record), engine="reference", shapes="strict")
        return repr(session.run(random_feeds(session.inputs, {}, 3, {}).values))
    except sx.SardonyxError:
        return None


DAMAGED = [seed for seed in seeds() if seed[0] == "model"]


@pytest.mark.parametrize("seed", range(10))
def test_whatever_is_damaged_fixes_end_and_change_no_answer(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(40):
        record = damage(chance.choice(DAMAGED), chance)
        fixed, applied = fix(record)
        assert fix(fixed)[1] == []
        answer = outcome(record)
        if applied and answer is not None and answer == outcome(record):  # not for random operators
            assert outcome(fixed) == answer, [str(applied_fix) for applied_fix in applied]


def test_violations_by_the_thousand_are_fixed() -> None:
    record = model("g (float[2] x) => (float[2] v0) { v0 = Abs(x) }")
    assert record.graph is not None
    record.graph.node = [
        m.NodeProto(op_type="Abs", name="n", input=["x"], output=[f"v{i}"]) for i in range(3000)
    ]
    record.graph.value_info = [m.ValueInfoProto(name=f"v{1 + i % 2999}") for i in range(5998)]
    fixed, applied = fix(record)
    assert len(applied) == 2999 + 2999
    assert check(fixed).of("error") == []
