"""Chains of text operators that one call computes on the fast path, against the reference engine, which computes each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.program import Step
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Model
from sardonyx._src.ir.build import attribute
from sardonyx._src.ops.ml.identity_key import IdentityKey
from sardonyx._src.ops.text.ngram_vectors import NgramLists, build_vectorizer
from sardonyx._src.ops.text.token_runs import MARK
from sardonyx._src.ops.text.word_counts import MARK_NUMBER, WordCounter, word_counter
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.fast_path.bound_calls import BoundCall, ReplacedCall
from sardonyx._src.runtime.session.session import ENGINES, Session

MICROSOFT = '"com.microsoft": 1'
WORDS = [
    "One",
    "two",
    "TWO",
    "a_b",
    "class",
    "ΣΑΣ",
    "straße",
    "İ",
    "x1",
    "#",
    "\0",
    "é",
    "one\0two",
    "ſ",
    "\x1c",
]
POOL = 'pool_strings = ["one", "two", "class", "x1", "σας", "é", "a_b"], ngram_counts = [0], ngram_indexes = [6, 0, 1, 2, 3, 4, 5]'
WEIGHTS = "weights = [0.5, 2.0, 3.0, 0.25, 7.0, 1.5, 0.1]"


def text_model(
    *,
    shape: str = "N,1",
    normalizer: str = 'is_case_sensitive = 0, case_change_action = "LOWER"',
    tokenizer: str = 'tokenexp = "[a-zA-Z0-9_é]+", pad_value = "#", mincharnum = 1',
    vectorizer: str = f'mode = "TF", {POOL}',
    result: str = "float[N,7] y",
) -> Model:
    flat = "flat = Reshape(x, minus_one)" if "," in shape else "flat = Identity(x)"
    return parse_model(
        f"""g (string[{shape}] x) => ({result}) {{
            minus_one = Constant <value = int64[1] {{-1}}> ()
            {flat}
            normal = StringNormalizer <{normalizer}> (flat)
            tokens = com.microsoft.Tokenizer <mark = 0, {tokenizer}> (normal)
            counts = TfIdfVectorizer <min_gram_length = 1, max_gram_length = 1, max_skip_count = 0, {vectorizer}> (tokens)
            y = Neg(counts)
        }}""",
        more=MICROSOFT,
    )


def draw_texts(count: int, seed: int = 5) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(0, 9))) for _ in range(count)]


def run_twice(
    model: Model, texts: Sequence[str], shape: tuple[int, ...], threads: int = 1
) -> tuple[Session, Array]:
    """The session and the result of a run on the fast path."""
    session = sx.Session(model, engine="native", threads=threads)
    x = np.array(texts, object).reshape(shape)
    for _ in range(3):
        y: Array = np.asarray(session.run({"x": x})["y"])
    assert session.stats.fast_path_runs == 1
    return session, y


def replaced_calls(session: Session) -> int:
    """The number of fallback operations that other calls perform."""
    engine = session._runner
    assert isinstance(engine, NativeEngine)
    paths = [context.fast_path for context in engine.native.contexts]
    calls = chain.from_iterable(
        p.calls.calls.values() for p in paths if p is not None and p.calls is not None
    )
    kinds = [type(call) for call in calls]
    assert BoundCall in kinds
    return kinds.count(ReplacedCall)


def expected_of(model: Model, texts: Sequence[str], shape: tuple[int, ...]) -> Array:
    feeds = {"x": np.array(texts, object).reshape(shape)}
    return np.asarray(sx.Session(model, engine="reference").run(feeds)["y"])


@pytest.mark.parametrize("count", [1, 2, 17, 300])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "vectorizer",
    [f'mode = "TF", {POOL}', f'mode = "IDF", {POOL}, {WEIGHTS}', f'mode = "TFIDF", {POOL}, {WEIGHTS}'],
    ids=["TF", "IDF", "TFIDF"],
)
def test_words_are_counted_as_by_single_operators(vectorizer: str, count: int, threads: int) -> None:
    model, texts = text_model(vectorizer=vectorizer), draw_texts(count)
    session, y = run_twice(model, texts, (count, 1), threads)
    assert replaced_calls(session) == 3
    np.testing.assert_array_equal(y, expected_of(model, texts, (count, 1)))


@pytest.mark.parametrize("alphabet", ["ascii", "latin", "wide"])
@pytest.mark.parametrize("action", ["NONE", "LOWER", "UPPER"])
def test_cases_of_every_alphabet(action: str, alphabet: str) -> None:
    words = {"ascii": ["One", "TWO", "x1", "a_b "], "latin": ["One", "É", "ß", "é"], "wide": WORDS}[alphabet]
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(words, 4)) for _ in range(40)]
    model = text_model(normalizer=f'is_case_sensitive = 1, case_change_action = "{action}"')
    session, y = run_twice(model, texts, (40, 1))
    assert replaced_calls(session) == 3
    np.testing.assert_array_equal(y, expected_of(model, texts, (40, 1)))


def test_a_locale_without_support_is_refused_when_its_casing_rules_apply() -> None:
    normalizer = 'is_case_sensitive = 1, locale = "lt_LT", case_change_action = "{}"'
    model, texts = text_model(normalizer=normalizer.format("NONE")), draw_texts(9)
    session, y = run_twice(model, texts, (9, 1))
    assert replaced_calls(session) == 3
    np.testing.assert_array_equal(y, expected_of(model, texts, (9, 1)))
    for engine in ENGINES:
        session = sx.Session(text_model(normalizer=normalizer.format("LOWER")), engine=engine)
        with pytest.raises(EvaluationError, match="locale must not be Lithuanian"):
            session.run({"x": np.array(texts, object).reshape(9, 1)})


def test_a_vector_of_texts_needs_no_reshape() -> None:
    model, texts = text_model(shape="N"), draw_texts(9)
    session, y = run_twice(model, texts, (9,))
    assert replaced_calls(session) == 2
    np.testing.assert_array_equal(y, expected_of(model, texts, (9,)))


def test_short_words_do_not_count() -> None:
    model, texts = (
        text_model(tokenizer='tokenexp = "[a-z0-9_]+", pad_value = "#", mincharnum = 3'),
        draw_texts(60),
    )
    session, y = run_twice(model, texts, (60, 1))
    assert replaced_calls(session) == 3
    np.testing.assert_array_equal(y, expected_of(model, texts, (60, 1)))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"normalizer": 'is_case_sensitive = 1, stopwords = ["zzz"]'}, "texts may be removed"),
        ({"normalizer": 'is_case_sensitive = 1, case_change_action = "LOWER", locale = "tr_TR"'}, "Turkish"),
        ({"tokenizer": 'tokenexp = "[a-z]+", pad_value = "one", mincharnum = 1'}, "padding is a word"),
        ({"tokenizer": 'tokenexp = "[^#]+", pad_value = "#", mincharnum = 1'}, "spaces are parts of words"),
        (
            {"tokenizer": 'tokenexp = "[a-z][a-z]+", pad_value = "#", mincharnum = 1'},
            "not runs of characters",
        ),
        ({"tokenizer": 'separators = [" "], pad_value = "#", mincharnum = 1'}, "separators"),
        ({"result": "float[N,7] y, string[N,M] tokens"}, "tokens are an output"),
    ],
)
def test_other_chains_are_called_one_by_one(changed: dict[str, str], reason: str) -> None:
    model, texts = text_model(**changed), draw_texts(30)
    session, y = run_twice(model, texts, (30, 1))
    assert replaced_calls(session) == 0, reason
    np.testing.assert_array_equal(y, expected_of(model, texts, (30, 1)))


def counter_of(words: tuple[str, ...], weights: tuple[float, ...] | None, *, is_binary: bool) -> WordCounter:
    """A counter of words of at least two characters; the word i has the index 2 * i."""
    lists = NgramLists(None, words, (0,), tuple(range(0, 2 * len(words), 2)), weights)
    vectorizer = build_vectorizer(IdentityKey(lists), 1, 1, is_binary=is_binary)
    counter = word_counter(re.compile("[a-z0-9_]+"), None, vectorizer, 2, 1000)
    assert counter is not None
    return counter


def test_each_of_a_few_distinct_words_is_one_look_up() -> None:
    counter = counter_of(("one", "a", "two"), None, is_binary=False)
    assert counter.columns == {"one": 0, "two": 4, MARK: MARK_NUMBER}
    texts = np.array(["two a two", "", "one x two"], object)
    assert counter.count(texts).tolist() == [[0, 0, 0, 0, 2], [0, 0, 0, 0, 0], [1, 0, 0, 0, 1]]
    out = np.full((1, 5), np.nan, np.float32)
    assert counter.count(texts[:1], out).base is out
    assert out.tolist() == [[0, 0, 0, 0, 2]]


def test_weighted_and_repeated_words_have_no_columns() -> None:
    assert counter_of(("one", "two"), (1.0, 2.0), is_binary=False).columns is None
    assert counter_of(("one", "two"), None, is_binary=True).columns is None
    assert counter_of(("one", "two", "one"), None, is_binary=False).columns is None


def test_a_run_with_other_sizes_starts_over() -> None:
    model = text_model()
    session, _ = run_twice(model, draw_texts(5), (5, 1))
    texts = draw_texts(8, seed=9)
    y = np.asarray(session.run({"x": np.array(texts, object).reshape(8, 1)})["y"])
    np.testing.assert_array_equal(y, expected_of(model, texts, (8, 1)))


def test_operations_on_texts_come_before_all_kernels() -> None:
    """Also where they tell sizes that kernels need: those of the longest text here."""
    model = parse_model(
        """g (string[N] x, float[N,1,1] a) => (float[N,M,2] y, float[N,1,1] b) {
            b = Exp(a)
            words, lengths = StringSplit(x)
            one_hot = ai.onnx.ml.OneHotEncoder <cats_strings = ["one", "two"], zeros = 1> (words)
            y = Add(one_hot, b)
        }""",
        more='"ai.onnx.ml": 1',
    )
    session, reference = sx.Session(model, engine="native", threads=1), sx.Session(model, engine="reference")
    engine = session._runner
    assert isinstance(engine, NativeEngine)
    is_step = [isinstance(action, Step) for action in engine.native.program.actions]
    assert True in is_step and is_step == sorted(is_step)
    a = np.array([0.0, 1.0], np.float32).reshape(2, 1, 1)
    for texts in (
        ["one", "two"],
        ["one", "two"],
        ["one", "two"],
        ["two one x", "one"],
        ["", "one two"],
        ["", ""],
    ):
        feeds = {"x": np.array(texts, object), "a": a}
        expected = reference.run(feeds)
        for name, value in session.run(feeds).items():
            np.testing.assert_allclose(np.asarray(value), np.asarray(expected[name]), 1e-6)
    assert not session.stats.bailouts


PAIRS = [("one", "two"), ("two", "two"), ("class", "x1"), ("x1", "a_b"), ("one", "two", "two")]
LONG_POOL = ["one", "two", *(word for pair in PAIRS for word in pair)]
LONG_GRAMS = f"""pool_strings = {LONG_POOL}, ngram_counts = [0, 2, 10], ngram_indexes = [6, 0, 1, 2, 3, 4, 5]""".replace(
    "'", '"'
)


@pytest.mark.parametrize("rows", [1, 8, 200])
@pytest.mark.parametrize("shortest", [1, 2, 3])
@pytest.mark.parametrize("mode", ['mode = "TF"', f'mode = "TFIDF", {WEIGHTS}', f'mode = "IDF", {WEIGHTS}'])
def test_longer_n_grams_are_counted_within_texts(rows: int, shortest: int, mode: str) -> None:
    tokenizer = f'tokenexp = "[a-zA-Z0-9_é]+", pad_value = "#", mincharnum = {shortest}'
    model = text_model(tokenizer=tokenizer, vectorizer=f"{mode}, {LONG_GRAMS}")
    node = next(node for node in model.graph.nodes if node.op_type == "TfIdfVectorizer")
    node.set_attribute(attribute("max_gram_length", 3))
    texts = ["one two two", "two i two", *draw_texts(rows)][:rows]
    session, y = run_twice(model, texts, (rows, 1))
    assert replaced_calls(session) == 3
    np.testing.assert_array_equal(y, expected_of(model, texts, (rows, 1)))
    assert np.abs(y).sum() > 0
