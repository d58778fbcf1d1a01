"""`Session(shapes=...)`: what happens where sizes are others than the model declares, on both engines."""

from __future__ import annotations

import pickle
import re
import threading
import warnings
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.cli.main import main
from sardonyx._src.compile.linker import features
from sardonyx._src.errors import InputError, OutputError, SardonyxError, ShapeWarning
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.declarations.shape_policy import MAX_OBSERVED, ShapePolicy
from sardonyx._src.runtime.saved_programs.disk_cache import CachedEngine
from sardonyx._src.runtime.session.session import Engine

F = np.float32
ENGINES: list[Engine] = ["reference", "native"]
both_engines = pytest.mark.parametrize("engine", ENGINES)
all_policies = pytest.mark.parametrize("shapes", ["inputs", "strict", "warn", "off"])
needs_saved_programs = pytest.mark.skipif(
    features.saved_program_machine() is None, reason="programs are saved on Linux only"
)

SUM = "g (float[N] x, float[N] y) => (float[M] z) { z = Add(x, y) }"
FIXED = "g (float[3] x) => (float[M] y) { y = Add(x, x) }"
WRONG_OUTPUT = "g (float[N,3] x) => (float[1] y) { y = Neg(x) }"
TWICE = "g (float[N,H] x) => (float[N,H] y) { y = Concat<axis = 1>(x, x) }"
STALE = "g (float[N] x) => (float[M] y) <float[5] h> { h = Concat<axis = 0>(x, x)  y = Neg(h) }"
CERTAIN = "g (float[3] x) => (float[M] y) <float[5] h> { h = Concat<axis = 0>(x, x)  y = Neg(h) }"
TRUE = 'g (float[N] x) => (float[M] y) <float["2*N"] h> { h = Concat<axis = 0>(x, x)  y = Neg(h) }'
BRANCH = """g (bool c, float[2] x) => (float[M] y) {
    y = If (c) <then_branch = t () => (float[3] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }>
}"""
LOOP = """g (int64 n, bool c, float[N] x) => (float[M] y, int64[K,1] z) { y, z = Loop (n, c, x) <
    body = b (int64 i, bool k, float[3] v) => (bool l, float[3] w, int64[1] s) { l = Identity(k)  w = Add(v, v)  s = Shape(v) }
>}"""
LOOP_OF_INPUTS = """g (int64 n, bool c, float[N] x) => (float[M] y) { y = Loop (n, c, x) <
    body = b (int64 i, bool k, float[N] v) => (bool l, float[N] u) <float[3] w> { l = Identity(k)  w = Exp(x)  u = Add(v, w) }
>}"""
LISTS = """g (seq(float[N]) x) => (seq(float[N]) y, float[M] z) {
    i = Constant<value_int = 1>()  y = Identity(x)  z = SequenceAt(x, i)
}"""


def make_session(
    text: str, engine: Engine = "native", shapes: ShapePolicy = "inputs", *, ir: int = 10
) -> sx.Session:
    return sx.Session(parse_record(text, ir=ir), engine=engine, threads=1, shapes=shapes)


def counted(*shape: int) -> Array:
    return np.arange(int(np.prod(shape)), dtype=F).reshape(shape)


def array(value: RuntimeValue) -> Array:
    assert isinstance(value, np.ndarray)
    return value


def shape_of(value: RuntimeValue) -> tuple[int, ...]:
    return array(value).shape


# --- inputs ----------------------------------------------------------------------------------


@both_engines
@pytest.mark.parametrize("shapes", ["inputs", "strict"])
def test_inputs_are_held_to_their_variables(engine: Engine, shapes: ShapePolicy) -> None:
    session = make_session(SUM, engine, shapes)
    with pytest.raises(
        InputError, match="'N' must have one length; got 1 in input 'x' axis 0 and 3 in input 'y'"
    ):
        session.run({"x": counted(1), "y": counted(3)})


@both_engines
def test_under_warn_disagreeing_inputs_run_with_a_warning(engine: Engine) -> None:
    session = make_session(SUM, engine, "warn")
    for _ in range(3):  # as many as the fast path needs
        session.run({"x": counted(3), "y": counted(3)})
    with pytest.warns(
        ShapeWarning, match="'N' must have one length; got 1 in input 'x' axis 0 and 3 in input 'y'"
    ):
        z = session.run({"x": np.array([10], F), "y": counted(3)})["z"]
    assert array(z).tolist() == [10, 11, 12]
    assert array(session.run({"x": counted(3), "y": np.array([10], F)})["z"]).tolist() == [10, 11, 12]
    assert session.stats.shape_warnings == 1
    assert session.stats.bailouts == (
        {} if engine == "reference" else {"sizes of inputs other than declared": 2}
    )


@both_engines
@pytest.mark.parametrize("shapes", ["inputs", "strict", "warn"])
def test_fixed_sizes_of_inputs_are_held(engine: Engine, shapes: ShapePolicy) -> None:
    with pytest.raises(InputError, match=r"input 'x' axis 0 must have length 3 \(float\[3\]\); got 5"):
        make_session(FIXED, engine, shapes).run({"x": counted(5)})


@both_engines
def test_under_off_inputs_of_any_size_run(engine: Engine) -> None:
    session = make_session(FIXED, engine, "off")
    for length in (3, 3, 3, 5, 0, 3, 70_000):
        assert array(session.run({"x": counted(length)})["y"]).tolist() == (2 * counted(length)).tolist()
    assert session.stats.shape_warnings == 0


@both_engines
@all_policies
def test_types_and_ranks_of_inputs_are_held(engine: Engine, shapes: ShapePolicy) -> None:
    session = make_session(FIXED, engine, shapes)
    with pytest.raises(InputError, match="of rank 1; got shape"):
        session.run({"x": counted(3, 1)})
    with pytest.raises(InputError, match="must be float; got float64"):
        session.run({"x": np.zeros(3)})


@both_engines
def test_up_to_ir_version_3_inputs_share_their_names_and_inner_values_do_not(engine: Engine) -> None:
    text = "g (float[N] x, float[N] y) => (float[N] z) <float[N] h> { h = Concat<axis = 0>(x, x)  z = Add(x, y) }"
    text = text.replace("z = Add(x, y)", "u = ReduceSum<axes = [0]>(h)  v = Add(x, y)  z = Add(u, v)")
    record = parse_record(text, ir=3, opset=8)
    session = sx.Session(record, engine=engine, shapes="strict")
    assert shape_of(session.run({"x": counted(2), "y": counted(2)})["z"]) == (2,)
    with pytest.raises(InputError, match="'N'"):
        session.run({"x": counted(2), "y": counted(1)})
    later = sx.Session(parse_record(text, ir=4, opset=8), engine=engine, shapes="strict")
    with pytest.raises(
        OutputError, match="'N' must have one length; got 2 in input 'x' axis 0 and 4 in value 'h'"
    ):
        later.run({"x": counted(2), "y": counted(2)})


# --- placeholders, as files in use have them --------------------------------------------------


@both_engines
@all_policies
@pytest.mark.parametrize("name", ["?", "*", "None", "-1", "unk__7"])
def test_placeholders_bind_nothing(engine: Engine, shapes: ShapePolicy, name: str) -> None:
    text = f'g (float["{name}","{name}"] x, float["{name}",3] y) => (float["{name}","{name}"] z) {{ z = Add(x, y) }}'
    session = make_session(text, engine, shapes)
    assert shape_of(session.run({"x": counted(2, 1), "y": counted(1, 3)})["z"]) == (2, 3)
    assert shape_of(session.run({"x": counted(5, 3), "y": counted(5, 3)})["z"]) == (5, 3)


@both_engines
def test_a_star_of_ir_version_3_is_any_number_of_dims(engine: Engine) -> None:
    session = make_session('g (float["*"] x) => (float["*"] y) { y = Neg(x) }', engine, "strict", ir=3)
    for shape in ((), (2,), (2, 3)):
        assert shape_of(session.run({"x": counted(*shape)})["y"]) == shape


# --- outputs ---------------------------------------------------------------------------------


@both_engines
@pytest.mark.parametrize("shapes", ["inputs", "warn"])
@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        (WRONG_OUTPUT, (2, 3), r"output 'y' must be float\[1\], of rank 1; got shape \[2, 3\]"),
        (TWICE, (2, 6), "'H' must have one length; got 3 in input 'x' axis 1 and 6 in output 'y' axis 1"),
        (
            "g (float[N,3] x) => (float[1,3] y) { y = Neg(x) }",
            (2, 3),
            r"output 'y' axis 0 must have length 1 \(float\[1,3\]\); got 2",
        ),
    ],
)
def test_outputs_of_other_sizes_are_returned_with_one_warning(
    engine: Engine, shapes: ShapePolicy, text: str, shape: tuple[int, ...], message: str
) -> None:
    session = make_session(text, engine, shapes)
    with pytest.warns(ShapeWarning, match=message) as caught:
        assert shape_of(session.run({"x": counted(2, 3)})["y"]) == shape
    assert caught[0].filename == __file__
    for _ in range(4):
        session.run({"x": counted(2, 3)})
        session.run({"x": counted(4, 3)})
    assert session.stats.shape_warnings == 1


@both_engines
@pytest.mark.parametrize("text", [WRONG_OUTPUT, TWICE])
def test_under_strict_outputs_are_held_in_every_run(engine: Engine, text: str) -> None:
    session = make_session(text, engine, "strict")
    for _ in range(4):
        with pytest.raises(OutputError, match="output 'y'"):
            session.run({"x": counted(2, 3)})


@both_engines
def test_under_off_sizes_of_outputs_are_not_compared(engine: Engine) -> None:
    session = make_session(TWICE, engine, "off")
    assert shape_of(session.run({"x": counted(2, 3)})["y"]) == (2, 6)


@both_engines
def test_under_strict_a_name_is_one_length_even_if_only_outputs_have_it(engine: Engine) -> None:
    text = "g (float[2] x) => (float[K] y, float[K] z) { y = Identity(x)  z = Concat<axis = 0>(x, x) }"
    assert set(make_session(text, engine).run({"x": counted(2)})) == {"y", "z"}
    with pytest.raises(
        OutputError, match="'K' must have one length; got 2 in output 'y' axis 0 and 4 in output 'z'"
    ):
        make_session(text, engine, "strict").run({"x": counted(2)})


@both_engines
@all_policies
def test_element_types_of_outputs_are_held(engine: Engine, shapes: ShapePolicy) -> None:
    session = make_session("g (float[2] x) => (int64[2] y) { y = Identity(x) }", engine, shapes)
    with pytest.raises(OutputError, match=r"output 'y' must be int64\[2\]; got float"):
        session.run({"x": counted(2)})


def test_a_filter_that_makes_warnings_errors_holds_every_run() -> None:
    session = make_session(TWICE)
    for _ in range(4):
        with pytest.raises(ShapeWarning, match="'H'"):  # the filter of this test suite
            session.run({"x": counted(2, 3)})


def test_a_run_issues_few_warnings_and_counts_the_rest() -> None:
    outputs = ", ".join(f"float[1] y{i}" for i in range(9))
    nodes = "  ".join(f"y{i} = Neg(x)" for i in range(9))
    session = sx.Session(parse_model(f"g (float[N] x) => ({outputs}) {{ {nodes} }}"), engine="reference")
    with pytest.warns(sx.ShapeWarning) as issued:
        session.run({"x": np.zeros(4, np.float32)})
    texts = [str(warning.message) for warning in issued]
    assert [text.split(" axis")[0] for text in texts] == [f"output 'y{i}'" for i in range(5)]
    assert texts[4].endswith("; 4 more sizes contradict declarations") and "more" not in "".join(texts[:4])
    assert session.stats.shape_warnings == 9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.run({"x": np.zeros(4, np.float32)})


def test_threads_share_the_places_that_were_reported() -> None:
    session = make_session(TWICE)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session.run({"x": counted(2, 3)})
        threads = [threading.Thread(target=session.run, args=({"x": counted(2, n)},)) for n in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(caught) == 1


# --- sequences -------------------------------------------------------------------------------


@both_engines
def test_elements_of_other_sizes_run_with_a_warning_for_each_value(engine: Engine) -> None:
    session = make_session(LISTS, engine)
    with pytest.warns(ShapeWarning) as caught:
        out = session.run({"x": [counted(2), counted(3)]})
    assert [array(element).tolist() for element in cast(list[RuntimeValue], out["y"])] == [[0, 1], [0, 1, 2]]
    assert array(out["z"]).tolist() == [0, 1, 2]
    assert [str(entry.message) for entry in caught] == [
        "dimension 'N' must have one length; got 2 in input 'x'[0] axis 0 and 3 in input 'x'[1] axis 0",
        "dimension 'N' must have one length; got 2 in input 'x'[0] axis 0 and 3 in output 'y'[1] axis 0",
    ]


@both_engines
def test_under_strict_elements_are_held(engine: Engine) -> None:
    with pytest.raises(InputError, match=r"got 2 in input 'x'\[0\] axis 0 and 3 in input 'x'\[1\] axis 0"):
        make_session(LISTS, engine, "strict").run({"x": [counted(2), counted(3)]})


@both_engines
def test_returned_sequences_are_compared(engine: Engine) -> None:
    text = "g (float[2] x, float[3] w) => (seq(float[2]) y) { y = SequenceConstruct(x, w) }"
    feeds = {"x": counted(2), "w": counted(3)}
    message = r"output 'y'\[1\] axis 0 must have length 2"
    with pytest.warns(ShapeWarning, match=message):
        assert len(cast(list[RuntimeValue], make_session(text, engine).run(feeds)["y"])) == 2
    with pytest.raises(OutputError, match=message):
        make_session(text, engine, "strict").run(feeds)


@both_engines
def test_elements_do_not_determine_what_a_name_of_tensors_means(engine: Engine) -> None:
    text = """g (seq(float[N]) s, float[N] x, float[N] w) => (float[N] y, seq(float[N]) t) {
        y = Add(x, w)  t = Identity(s)
    }"""
    session = make_session(text, engine)
    with pytest.warns(ShapeWarning) as caught:
        session.run({"s": [counted(2)], "x": counted(3), "w": counted(3)})
    assert [str(w.message).split("; ")[1] for w in caught] == [
        "got 3 in input 'x' axis 0 and 2 in input 's'[0] axis 0",
        "got 3 in input 'x' axis 0 and 2 in output 't'[0] axis 0",
    ]


# --- maps ------------------------------------------------------------------------------------

MAPS = """g (seq(map(string, float[N])) x, float[N] w) => (seq(map(string, float[3])) y, float[N] z) {
    y = Identity(x)  z = Neg(w)
}"""
ZIPPED = """g (float[2,2] x) => (float[2,2] z, seq(map(int64, float[%s])) y) {
    z = Neg(x)  y = ai.onnx.ml.ZipMap<classlabels_int64s = [4, 5]>(x)
}"""


def make_map_session(text: str, engine: Engine, shapes: ShapePolicy = "inputs") -> sx.Session:
    record = parse_record(text, ir=14, opset=28, more='"ai.onnx.ml": 1')
    return sx.Session(record, engine=engine, threads=1, shapes=shapes)


@both_engines
def test_values_of_maps_are_compared(engine: Engine) -> None:
    feeds = {"x": [{"a": counted(2)}, {"a": counted(3), "b": counted(4)}], "w": counted(3)}
    session = make_map_session(MAPS, engine)
    with pytest.warns(ShapeWarning) as caught:
        result = session.run(feeds)
    assert [str(entry.message) for entry in caught] == [
        "dimension 'N' must have one length; got 3 in input 'w' axis 0 and 2 in input 'x'[0]['a'] axis 0",
        "output 'y'[0]['a'] axis 0 must have length 3 (float[3]); got 2",
    ]
    assert shape_of(cast(list[dict[str, RuntimeValue]], result["y"])[1]["b"]) == (4,)
    with pytest.raises(InputError, match=r"2 in input 'x'\[0\]\['a'\] axis 0"):
        make_map_session(MAPS, engine, "strict").run(feeds)


@both_engines
@pytest.mark.parametrize("shapes", ["inputs", "strict"])
def test_values_of_maps_are_scalars_or_vectors_of_one_element(engine: Engine, shapes: ShapePolicy) -> None:
    for declared in ("", "1"):
        assert len(make_map_session(ZIPPED % declared, engine, shapes).run({"x": counted(2, 2)})) == 2
    session = make_map_session(ZIPPED % "3", engine, "strict")
    with pytest.raises(
        OutputError, match=r"output 'y'\[0\]\[4\] must be float\[3\], of rank 1; got shape \[\]"
    ):
        session.run({"x": counted(2, 2)})


# --- inner values ----------------------------------------------------------------------------

INNER = [
    (
        STALE,
        {"x": counted(3)},
        r"value 'h' \(node\[0\] \(Concat\)\) axis 0 must have length 5 \(float\[5\]\); got 6",
    ),
    (
        BRANCH,
        {"c": np.array(True), "x": counted(2)},
        r"value 'p' \(node\[0\] \(If\).then_branch.node\[0\] \(Neg\)\) axis 0 must have length 3",
    ),
    (
        LOOP,
        {"n": np.array(2), "c": np.array(True), "x": counted(4)},
        r"value 'v' \(node\[0\] \(Loop\).body.input\) axis 0 must have length 3 \(float\[3\]\); got 4",
    ),
]


@pytest.mark.parametrize(("text", "feeds", "message"), INNER)
def test_the_reference_engine_reports_inner_values(text: str, feeds: dict[str, object], message: str) -> None:
    session = make_session(text, "reference")
    with pytest.warns(ShapeWarning) as caught:
        session.run(feeds)
    assert re.match(message, str(caught[0].message))
    before = session.stats.shape_warnings
    session.run(feeds)
    assert session.stats.shape_warnings == before


@both_engines
@pytest.mark.parametrize(("text", "feeds", "message"), INNER)
def test_under_strict_inner_values_are_held_in_every_run(
    engine: Engine, text: str, feeds: dict[str, object], message: str
) -> None:
    session = make_session(text, engine, "strict")
    for _ in range(4):
        with pytest.raises(OutputError, match=message):
            session.run(feeds)


def test_under_off_inner_values_are_not_compared() -> None:
    for text, feeds, _ in INNER:
        make_session(text, "reference", "off").run(feeds)


def test_the_native_engine_reports_what_no_run_can_satisfy() -> None:
    session = make_session(CERTAIN)
    message = (
        r"value 'h' \(node\[0\] \(Concat\)\) axis 0 must have length 5 \(float\[5\]\); got 6, as inferred"
    )
    with pytest.warns(ShapeWarning, match=message):
        assert array(session.run({"x": counted(3)})["y"]).tolist() == [0, -1, -2, 0, -1, -2]
    for _ in range(3):
        session.run({"x": counted(3)})
    assert session.stats.fast_path_runs > 0 and session.stats.bailouts == {}


def test_the_native_engine_reports_what_sizes_of_the_inputs_contradict() -> None:
    session = make_session(STALE.replace("5", "8"))  # which holds for N = 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert shape_of(session.run({"x": counted(4)})["y"]) == (8,)
    message = r"value 'h' \(node\[0\] \(Concat\)\) axis 0 must have length 8 \(float\[8\]\); got 6"
    with pytest.warns(ShapeWarning, match=message):
        assert shape_of(session.run({"x": counted(3)})["y"]) == (6,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for length in (2, 3, 3, 3):
            session.run({"x": counted(length)})
    assert session.stats.bailouts == {} and session.stats.fast_path_runs > 0


def test_the_native_engine_observes_a_run_whose_branch_may_contradict_its_declaration() -> None:
    session = make_session(BRANCH.replace("float[2]", "float[N]"))
    not_taken, taken = ({"c": np.array(c), "x": counted(2)} for c in (False, True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.run({"c": np.array(True), "x": counted(3)})
        assert session.stats.bailouts == {}
        for _ in range(3):
            assert shape_of(session.run(not_taken)["y"]) == (2,)
    assert list(session.stats.bailouts.values()) == [1]
    with pytest.warns(ShapeWarning, match=INNER[1][2]):
        assert shape_of(session.run(taken | {"x": counted(4)})["y"]) == (4,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for length in (5, 6, 7, 7, 7):
            session.run(taken | {"x": counted(length)})
    assert list(session.stats.bailouts.values()) == [2] and session.stats.fast_path_runs > 0


def test_the_native_engine_observes_few_runs() -> None:
    session = make_session(BRANCH.replace("float[2]", "float[N]"))
    for length in range(4, 30):
        session.run({"c": np.array(False), "x": counted(length)})
    assert list(session.stats.bailouts.values()) == [MAX_OBSERVED]


def test_the_native_engine_observes_a_loop_that_may_contradict_its_declaration() -> None:
    session = make_session(LOOP_OF_INPUTS)
    feeds = {"n": np.array(2), "c": np.array(True)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.run(feeds | {"x": counted(3)})
    with pytest.warns(ShapeWarning, match=r"value 'w' .* axis 0 must have length 3 \(float\[3\]\); got 4"):
        session.run(feeds | {"x": counted(4)})


@needs_saved_programs
def test_a_saved_program_reports_what_sizes_of_the_inputs_contradict(tmp_path: Path) -> None:
    model, path = parse_model(STALE.replace("5", "8").replace("[N]", "[batch]")), tmp_path / "m.sdx"
    sx.tools.compile(model, path)
    with pytest.warns(ShapeWarning, match="must have length 8"):
        assert shape_of(sx.Session(path).run({"x": counted(3)})["y"]) == (6,)


def test_under_strict_the_native_engine_runs_what_inference_proves() -> None:
    session = make_session(TRUE, "native", "strict")
    for _ in range(4):
        assert shape_of(session.run({"x": counted(3)})["y"]) == (6,)
    assert session.stats.bailouts == {} and session.stats.fast_path_runs > 0


def test_under_strict_the_reference_engine_runs_what_inference_cannot_prove() -> None:
    session = make_session(STALE.replace("5", "6"), "native", "strict")
    assert shape_of(session.run({"x": counted(3)})["y"]) == (6,)
    assert session.stats.bailouts == {'declared sizes of inner values, to be compared (shapes="strict")': 1}
    with pytest.raises(OutputError, match="value 'h'"):
        session.run({"x": counted(2)})


@both_engines
def test_names_inside_a_function_belong_to_one_value_of_one_call(engine: Engine) -> None:
    text = """g (float[N] x, float[2] w) => (float[M] y) { a = l.f(x)  b = l.f(w)  y = Concat<axis = 0>(a, b) }
        <domain: "l", opset_import: ["": 21]> f (a) => (b) <float[N] c> { c = Neg(a)  b = Abs(c) }"""
    record = parse_record(text, more='"l": 1')
    session = sx.Session(record, engine=engine, shapes="strict")
    assert shape_of(session.run({"x": counted(3), "w": counted(2)})["y"]) == (5,)


@both_engines
@all_policies
def test_false_declarations_do_not_change_results(engine: Engine, shapes: ShapePolicy) -> None:
    if shapes == "strict":
        return
    feeds = {"n": np.array(2), "c": np.array(True), "x": counted(6)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShapeWarning)
        out = make_session(LOOP, engine, shapes).run(feeds)
    assert array(out["y"]).tolist() == (4 * counted(6)).tolist()
    assert array(out["z"]).tolist() == [[6], [6]]


# --- programs that were compiled before -------------------------------------------------------


@needs_saved_programs
def test_a_cached_program_serves_every_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "m.onnx"
    sx.save(parse_model(CERTAIN), path)
    monkeypatch.setattr("sardonyx._src.io.file_stamps.RACY_WINDOW", -1)
    sx.Session(path, shapes="off").run({"x": counted(3)})
    session = sx.Session(path)
    assert isinstance(session._runner, CachedEngine)
    with pytest.warns(ShapeWarning, match="value 'h'.*got 6, as inferred"):
        session.run({"x": counted(3)})
    sx.Session(path, shapes="off").run({"x": counted(3)})
    with pytest.raises(OutputError, match="value 'h'"):
        sx.Session(path, shapes="strict").run({"x": counted(3)})
    with pytest.warns(ShapeWarning):
        again = (
            sx.Session(path, shapes="off").run({"x": counted(7)})["y"],
            sx.Session(path).run({"x": counted(3)}),
        )
    assert shape_of(again[0]) == (14,)


@needs_saved_programs
def test_a_saved_program_takes_a_policy(tmp_path: Path) -> None:
    for name, text in {"certain": CERTAIN, "sum": SUM, "true": TRUE, "twice": TWICE}.items():
        sx.save(parse_model(text), tmp_path / f"{name}.onnx")
        assert main(["compile", str(tmp_path / f"{name}.onnx"), "-o", str(tmp_path / f"{name}.sdx")]) == 0
    with pytest.warns(ShapeWarning, match="value 'h'"):
        sx.Session(tmp_path / "certain.sdx").run({"x": counted(3)})
    with pytest.raises(SardonyxError, match="is a saved program, which cannot compare its inner values"):
        sx.Session(tmp_path / "certain.sdx", shapes="strict")
    sx.Session(tmp_path / "true.sdx", shapes="strict").run({"x": counted(3)})
    with pytest.raises(OutputError, match="'H'"):
        sx.Session(tmp_path / "twice.sdx", shapes="strict").run({"x": counted(2, 3)})
    with pytest.raises(SardonyxError, match="run the model that it was compiled from"):
        sx.Session(tmp_path / "sum.sdx", shapes="off").run({"x": counted(1), "y": counted(3)})


def test_sessions_of_equal_models_have_policies_of_their_own() -> None:
    lenient, strict = make_session(TWICE, shapes="off"), make_session(TWICE, shapes="strict")
    for _ in range(4):
        lenient.run({"x": counted(2, 3)})
    with pytest.raises(OutputError):
        strict.run({"x": counted(2, 3)})


def test_a_pickled_session_keeps_its_policy() -> None:
    session = pickle.loads(pickle.dumps(make_session(TWICE, shapes="off")))
    assert shape_of(session.run({"x": counted(2, 3)})["y"]) == (2, 6)


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(
        SardonyxError, match="shapes must be one of 'inputs', 'strict', 'warn', 'off'; got 'lax'"
    ):
        make_session(SUM, shapes=cast(ShapePolicy, "lax"))


def test_a_trace_observes_inner_values_too() -> None:
    session = make_session(STALE, "native")
    with pytest.warns(ShapeWarning, match="value 'h'"):
        assert [node.op_type for node, _ in session.trace({"x": counted(3)})] == ["Concat", "Neg"]


# --- the command line ------------------------------------------------------------------------


def test_run_prints_warnings_in_one_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(parse_model(TWICE), tmp_path / "m.onnx")
    arguments = ["run", str(tmp_path / "m.onnx"), "x=[[1, 2]]"]
    assert main(arguments) == 0
    message = "dimension 'H' must have one length; got 2 in input 'x' axis 1 and 4 in output 'y' axis 1"
    assert capsys.readouterr().err == f"warning: {message}\n"
    assert main([*arguments, "--shapes", "off"]) == 0
    assert capsys.readouterr().err == ""
    assert main([*arguments, "--shapes", "strict"]) == 1
    assert message in capsys.readouterr().err
