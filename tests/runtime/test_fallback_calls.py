"""Fallback operations on the fast path: strings and maps around kernels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.program.encoding import size_functions
from sardonyx._src.errors import EvaluationError, InputError
from sardonyx._src.ir import Array, Model
from sardonyx._src.ir.dims import Known

ML = '"ai.onnx.ml": 1'
CLASSIFIER = """g (float[N,2] x) => (string[N] label, seq(map(string, float)) maps) {
    label, scores = ai.onnx.ml.LinearClassifier<
        classlabels_strings = ["a", "b"], coefficients = [1.0, 0.0, 0.0, 1.0], post_transform = "NONE">(x)
    maps = ai.onnx.ml.ZipMap<classlabels_strings = ["a", "b"]>(scores)
}"""
TWO_MAPS = """g (float[N,2] x) => (seq(map(string, float)) maps, seq(map(string, float)) negative) {
    a = Exp(x)
    b = Neg(x)
    maps = ai.onnx.ml.ZipMap<classlabels_strings = ["a", "b"]>(a)
    negative = ai.onnx.ml.ZipMap<classlabels_strings = ["a", "b"]>(b)
}"""
WORDS = """g (string[N,1] word, float[N,1] x) => (float[N,3] y) {
    one_hot = ai.onnx.ml.OneHotEncoder<cats_strings = ["p", "q"], zeros = 1>(word)
    flat = Flatten(one_hot)
    y = Concat<axis = 1>(flat, x)
}"""


def model_of(text: str) -> Model:
    return parse_model(text, more=ML)


def repeat(session: sx.Session, feeds: dict[str, Array], runs: int = 3) -> None:
    """Runs until the fast path is there."""
    for _ in range(runs):
        session.run(feeds)


def test_labels_and_maps_leave_runs_on_the_fast_path() -> None:
    session = sx.Session(model_of(CLASSIFIER), engine="native", threads=1)
    repeat(session, {"x": np.array([[1, 2], [4, 3]], np.float32)})
    result = session.run({"x": np.array([[6, 5], [7, 8]], np.float32)})
    assert session.stats.fast_path_runs == 2
    labels, maps = result.values()
    assert isinstance(labels, np.ndarray) and labels.tolist() == ["a", "b"]
    assert maps == [{"a": 6, "b": 5}, {"a": 7, "b": 8}]
    first = maps[0] if isinstance(maps, list) else None
    assert isinstance(first, dict)
    assert [type(value).__name__ for value in first.values()] == ["float32", "float32"]


def test_results_of_runs_are_independent() -> None:
    session = sx.Session(model_of(CLASSIFIER), engine="native", threads=1)
    feeds = {"x": np.array([[1, 2]], np.float32)}
    repeat(session, feeds)
    first = session.run(feeds)
    second = session.run({"x": np.array([[9, 2]], np.float32)})
    assert first["maps"] == [{"a": 1, "b": 2}] and second["maps"] == [{"a": 9, "b": 2}]
    assert first["label"] is not second["label"]


def test_bound_kernels_read_feeds_that_are_another_array_in_every_run() -> None:
    """Native steps read the same feeds."""
    model = model_of("""g (float[N,2] x, int64[M] i) => (seq(map(string, float)) maps, string[M] label, float[N,2] y, int64[M] j)
        <string[2] labels = {"a", "b"}> {
        maps = ai.onnx.ml.ZipMap<classlabels_strings = ["a", "b"]>(x)
        label = Gather(labels, i)
        y = Neg(x)
        j = Neg(i)
    }""")
    session = sx.Session(model, engine="native", threads=1)
    repeat(session, {"x": np.array([[1, 2]], np.float32), "i": np.array([0, 1, 0])})
    result = session.run({"x": np.array([[6, 5]], np.float32), "i": np.array([1, -1, 0])})
    assert (session.stats.fallback_nodes, session.stats.fast_path_runs) == (2, 2)
    assert result["maps"] == [{"a": 6, "b": 5}] and result["label"].tolist() == ["b", "b", "a"]
    with pytest.raises(EvaluationError, match="Gather"):
        session.run({"x": np.array([[6, 5]], np.float32), "i": np.array([1, 2, 0])})


def test_a_result_may_be_read_twice_or_replaced() -> None:
    """A kernel writes into the tensor of native steps only if nothing else reads its result."""
    text = """g (string[N] x) => (float[N,2] y, float[N,2] counts) {
        tokens = com.microsoft.Tokenizer <mark = 0, tokenexp = "[a-z]+", pad_value = "#", mincharnum = 1> (x)
        counts = TfIdfVectorizer <mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
            pool_strings = ["a", "b"], ngram_counts = [0], ngram_indexes = [0, 1]> (tokens)
        y = Neg(counts)
    }"""
    session = sx.Session(parse_model(text, more='"com.microsoft": 1'), engine="native", threads=1)
    repeat(session, {"x": np.array(["a b a", "b"], object)})
    first = session.run({"x": np.array(["b b", "a"], object)})
    second = session.run({"x": np.array(["", "a b"], object)})
    assert session.stats.fast_path_runs == 3
    for result, expected in ((first, [[0, 2], [1, 0]]), (second, [[0, 0], [1, 1]])):
        np.testing.assert_array_equal(result["counts"], np.array(expected, np.float32))
        np.testing.assert_array_equal(result["y"], -np.array(expected, np.float32))


@pytest.mark.parametrize("threads", [1, 2])
def test_fed_strings_take_the_fast_path(threads: int) -> None:
    session = sx.Session(model_of(WORDS), engine="native", threads=threads)
    repeat(session, {"word": np.array([["p"], ["q"]], object), "x": np.array([[1], [2]], np.float32)})
    y = session.run({"word": np.array([["?"], ["p"]], object), "x": np.array([[3], [4]], np.float32)})["y"]
    assert session.stats.fast_path_runs == 2
    np.testing.assert_array_equal(y, np.array([[0, 0, 3], [1, 0, 4]], np.float32))
    y = session.run({"word": np.array([["q"], ["p"]]), "x": np.array([[3], [4]], np.float32)})["y"]
    assert session.stats.fast_path_runs == 3
    np.testing.assert_array_equal(y, np.array([[0, 1, 3], [1, 0, 4]], np.float32))


def test_feeds_that_are_no_strings_are_refused_as_in_the_first_run() -> None:
    session = sx.Session(model_of(WORDS), engine="native", threads=1)
    x = np.array([[1]], np.float32)
    repeat(session, {"word": np.array([["p"]], object), "x": x})
    with pytest.raises(InputError, match="input 'word' must be strings; got a int 3 as element 0"):
        session.run({"word": np.array([[3]], object), "x": x})
    with pytest.raises(InputError, match="input 'word' must be strings; got int64"):
        session.run({"word": np.array([[3]]), "x": x})
    with pytest.raises(InputError, match="no value for input 'word'"):
        session.run({"x": x})


def test_other_sizes_and_back() -> None:
    session = sx.Session(model_of(WORDS), engine="native", threads=1)
    for rows in (2, 2, 2, 5, 5, 5, 2, 0, 0, 0, 1):
        words = np.array([["p"], ["q"], ["r"], ["p"], ["q"]], object)[:rows]
        y = session.run({"word": words, "x": np.ones((rows, 1), np.float32)})["y"]
        expected = [[w == "p", w == "q", 1] for w in words[:, 0]]
        np.testing.assert_array_equal(y, np.array(expected, np.float32).reshape(rows, 3))


def test_a_different_number_of_rows_in_one_input_is_an_error() -> None:
    session = sx.Session(model_of(WORDS.replace("float[N,1] x", "float[M,1] x")), engine="native", threads=1)
    words = np.array([["p"], ["q"]], object)
    repeat(session, {"word": words, "x": np.ones((2, 1), np.float32)})
    assert session.stats.fallback_nodes == 1
    with pytest.raises(EvaluationError, match="Concat"):
        session.run({"word": words, "x": np.ones((3, 1), np.float32)})


def test_an_error_of_a_kernel_is_that_of_the_first_run() -> None:
    text = """g (string[N] word, float[N] x) => (float[N,2] y, float[N] z) {
        y = ai.onnx.ml.OneHotEncoder<cats_strings = ["p", "q"], zeros = 0>(word)  z = Neg(x)
    }"""
    session = sx.Session(model_of(text), engine="native", threads=1)
    x = np.array([1], np.float32)
    repeat(session, {"word": np.array(["p"], object), "x": x})
    assert session.stats.fast_path_runs == 1
    with pytest.raises(EvaluationError, match="every element must be a category when zeros=0; got 'r'"):
        session.run({"word": np.array(["r"], object), "x": x})


def test_results_whose_size_depends_on_data_are_checked() -> None:
    text = "g (float[N] x) => (float[N] y, int64[1,K] places) { y = Neg(x)  places = NonZero(y) }"
    session = sx.Session(model_of(text), engine="native", threads=1)
    for elements in ([1, 0], [1, 0], [1, 0], [1, 2], [0, 3], [1, 2], [3, 4]):
        places = session.run({"x": np.array(elements, np.float32)})["places"]
        np.testing.assert_array_equal(places, np.nonzero(np.array(elements)))


def test_strings_that_pass_through_belong_to_the_caller() -> None:
    text = (
        "g (string[N] word, float[N] x) => (string[N] copy, float[N] y) { copy = Identity(word)  y = Neg(x) }"
    )
    session = sx.Session(model_of(text), engine="native", threads=1)
    words = np.array(["p", "q"], object)
    feeds = {"word": words, "x": np.array([1, 2], np.float32)}
    repeat(session, feeds)
    copy = session.run(feeds)["copy"]
    assert isinstance(copy, np.ndarray)
    copy[0] = "changed"
    assert words.tolist() == ["p", "q"]


def test_kernels_run_without_returning_to_python_in_between() -> None:
    text = """g (string[N,1] word, float[N,2] x) => (string[N] label, float[N,2] scores, float[N,1] sums) {
        label, raw = ai.onnx.ml.LinearClassifier<
            classlabels_strings = ["a", "b"], coefficients = [1.0, 0.0, 0.0, 1.0], post_transform = "NONE">(x)
        one_hot = ai.onnx.ml.OneHotEncoder<cats_strings = ["p", "q"], zeros = 1>(word)
        flat = Flatten(one_hot)
        scores = Add(raw, flat)
        sums = ReduceSum<keepdims = 1>(scores, axes)
    }"""
    from sardonyx._src.compile.llvm.jit import host_target
    from sardonyx._src.compile.pipeline import compile_model
    from sardonyx._src.compile.program import Step

    text = text.replace("sums) {", "sums) <int64[1] axes = {1}> {", 1)
    actions = compile_model(model_of(text), host_target(), verify=True).program.actions
    kinds = "".join("s" if isinstance(action, Step) else "p" for action in actions)
    assert kinds.strip("p") == "s" * kinds.count("s"), kinds
    assert kinds[0] == kinds[-1] == "p"


def test_offsets_in_the_arena_are_computed_once_for_new_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    compute = size_functions.max_aligned_size

    def count(known: dict[str, int], sizes: Iterable[Known]) -> int:
        nonlocal calls
        calls += 1
        return compute(known, sizes)

    session = sx.Session(model_of(TWO_MAPS), engine="native", threads=1)
    monkeypatch.setattr(size_functions, "max_aligned_size", count)
    repeat(session, {"x": np.zeros((2, 2), np.float32)})
    assert calls == 2  # one for each slot
    result = session.run({"x": np.zeros((1, 2), np.float32)})
    assert calls == 4 and result["maps"] == [{"a": 1, "b": 1}]
