import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import dim_max, symbol


def text(*values: object) -> Array:
    return np.array(values, object)


def case(x: Array, y: Array, label: object = "", **attributes: object) -> Case:
    return Case("StringNormalizer", 10, [x], [y], attributes, str(label))


WEEK = text("Monday", "tuesday", "MONDAY")

CASES = [
    case(WEEK, WEEK, "nothing to do"),
    case(WEEK, text("tuesday"), stopwords=["monday"]),
    case(WEEK, text("tuesday", "MONDAY"), stopwords=["Monday"], is_case_sensitive=1),
    case(WEEK, text("monday", "tuesday", "monday"), case_change_action="LOWER"),
    case(WEEK, text("TUESDAY"), stopwords=["monday"], case_change_action="UPPER"),
    case(WEEK, text("monday"), stopwords=["Monday", "tuesday"], is_case_sensitive=1, case_change_action="LOWER"),
    case(text("Monday"), text(""), "none is left", stopwords=["monday"]),
    case(text(["Monday"]), text([""]), "none is left of two axes", stopwords=["monday"]),
    case(text(["Monday", "x"]), text(["x"]), "two axes", stopwords=["monday"]),
    case(np.zeros(0, object), text(""), "empty"),
    case(text("Ärger", "ß", "Σ"), text("ÄRGER", "SS", "Σ"), "Unicode", case_change_action="UPPER"),
    case(text("IĞDIR", "İ"), text("ığdır", "i"), "Turkish", case_change_action="LOWER", locale="tr_TR"),
    case(text("iğdır"), text("İĞDIR"), "Turkish", case_change_action="UPPER", locale="tr_TR"),
    case(text("I\u0307"), text("i"), "Turkish, a dot on its own", case_change_action="LOWER", locale="az"),
    case(text("ISI", "x"), text("x"), "Turkish", stopwords=["ısı"], locale="tr_TR"),
    case(text("ISI", "x"), text("ISI", "x"), "English", stopwords=["ısı"], locale="en_US"),
    case(text("Straße", "ΣΑΣ", "x"), text("x"), "full folding", stopwords=["STRASSE", "σασ"]),
    case(text("I"), text("i"), "other languages", case_change_action="LOWER", locale="en_US"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("shape", [(2, 2), (1, 1, 1), ()])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(EvaluationError, match=r"X must be \[C\] or \[1, C\]; got shape \["):
        assert_case(case(np.full(shape, "a", object), text()))
    with pytest.raises(InferenceError, match=r"X must be \[C\] or \[1, C\]; got"):
        infer_node("StringNormalizer", 10, [TensorType(DataType.STRING, shape)])


def test_locales_with_rules_that_are_missing_are_refused() -> None:
    with pytest.raises(EvaluationError, match=r"locale must .*; got 'lt_LT'; omit it or use another"):
        assert_case(case(WEEK, WEEK, locale="lt_LT", case_change_action="UPPER"))
    with pytest.raises(EvaluationError, match=r"locale must .*; got 'lt_LT'; omit it or use another"):
        assert_case(case(WEEK, WEEK, locale="lt_LT", stopwords=["x"]))


def test_a_locale_matters_only_where_case_does() -> None:
    assert_case(case(WEEK, WEEK, locale="lt_LT"))
    kept = text("tuesday", "MONDAY")
    assert_case(case(WEEK, kept, locale="lt_LT", stopwords=["Monday"], is_case_sensitive=1))


def test_only_stop_words_change_the_size() -> None:
    n = symbol("N")
    x = TensorType(DataType.STRING, (1, n))
    assert infer_node("StringNormalizer", 10, [x]) == [TensorType(DataType.STRING, (1, dim_max(n, 1)))]
    stopped = infer_node("StringNormalizer", 10, [x], {"stopwords": ("a",)})
    assert stopped == [TensorType(DataType.STRING, (1, symbol("new0")))]
    assert infer_node("StringNormalizer", 10, [None]) == [TensorType(DataType.STRING)]
