import numpy as np
import pytest

from cases import Case, assert_case, model_of
from ops.control.node_inference import infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError, LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RunLimits


def case(pattern: str, yes: list[str], no: list[str]) -> Case:
    x = np.array(yes + no, object)
    expected = np.array([True] * len(yes) + [False] * len(no))
    return Case("RegexFullMatch", 20, [x], [expected], {"pattern": pattern}, repr(pattern))


CASES = [
    case("", [""], ["a"]),
    case("abc", ["abc"], ["ab", "abcd", "xabc"]),
    case("a*", ["", "aaa"], ["b"]),
    case("a+b?", ["a", "aab"], ["", "b", "abb"]),
    case("a|bc|", ["a", "bc", ""], ["abc"]),
    case("(a|b)*c", ["c", "abac"], ["abd"]),
    case("a{2,3}", ["aa", "aaa"], ["a", "aaaa"]),
    case("a{2}", ["aa"], ["a", "aaa"]),
    case("a{2,}", ["aa", "aaaaa"], ["a"]),
    case("a{0}", [""], ["a"]),
    case("(ab){0,2}c", ["c", "abc", "ababc"], ["abababc"]),
    case("a+?b*?c??d{1,2}?", ["aad", "abcdd"], ["d"]),
    case("x{,2}", ["x{,2}"], ["xx"]),
    case("{a}]", ["{a}]"], ["a"]),
    case("a{01}", ["a{01}"], ["a"]),
    case("(?P<n>a)(?P<n>b)", ["ab"], ["a"]),
    case(r"\p{Anatolian_Hieroglyphs}\p{Kawi}", ["\U00014400\U00011f02"], ["aa"]),
    case(r"(?i)\W", ["!", "é"], ["k", "ſ", "\u212a"]),
    case("(?i)[[:^upper:]]", ["1"], ["a", "A"]),
    case(r"[^\d\D]*", [""], ["a", "1"]),
    case(r"\_[--/]\08\777", ["_.\x008\u01ff"], ["__\x008\u01ff"]),
    case("a(?i)*b", ["aaB", "b"], ["AB"]),
    case(".", ["a", "é", "\U0001f600"], ["\n", "", "ab"]),
    case("(?s).", ["\n"], [""]),
    case("[a-cx]", ["a", "b", "x"], ["d", "-"]),
    case("[^a-c]", ["d", "\n"], ["a"]),
    case("[]a]", ["]", "a"], ["b"]),
    case("[^]a]", ["b"], ["]", "a"]),
    case("[a-]", ["a", "-"], ["b"]),
    case("[a-b-c]", ["a", "b", "-", "c"], ["d"]),
    case(r"[\d-z]", ["5", "-", "z"], ["a"]),
    case(r"[\]\\^-]", ["]", "\\", "^", "-"], ["a"]),
    case(r"\d\D\w\W\s\S", ["1aa  a", "9\n_-\ta"], ["aaa  a", "٣aa  a"]),
    case(r"\s", ["\t", "\n", "\f", "\r", " "], ["\v", "\u00a0"]),
    case("[[:alpha:]][[:^alpha:]]", ["a1", "Zé"], ["aa", "é1"]),
    case("[[:word:][:punct:]]", ["_", "!", "~"], [" "]),
    case(r"\pL\p{Lu}\PN", ["éÉa"], ["éé1", "1Éa"]),
    case(r"\p{Greek}+\P{Greek}", ["αβa"], ["αβγ"]),
    case(r"\p{^Lu}[\p{Nd}\PL]", ["a1", "a!"], ["A1", "aa"]),
    case(r"\p{Any}", ["a", "\n"], [""]),
    case(r"\a\f\t\n\r\v\x41\x{1F600}\101\0\.", ["\a\f\t\n\r\vA\U0001f600A\0."], [""]),
    case(r"\Qa*(\E*", ["a*", "a*((("], ["a", "aaa("]),
    case(r"\Qa.", ["a."], ["ab"]),
    case("(?i)straße", ["STRAßE", "straẞe"], ["STRASSE"]),
    case("(?i)[k-m]", ["k", "K", "\u212a", "L"], ["j"]),
    case("(?i)[^k]", ["a"], ["k", "K", "\u212a"]),
    case("(?i)σ", ["Σ", "ς", "σ"], ["s"]),
    case(r"(?i)\p{Lu}", ["a", "A"], ["1"]),
    case("a(?i)b(?-i)c", ["abc", "aBc"], ["Abc", "abC"]),
    case("a(?i:b)c", ["aBc"], ["aBC"]),
    case("(a(?i)b)c", ["aBc"], ["aBC"]),
    case("(?P<name>a)(?<other>b)(?:c)", ["abc"], ["ab"]),
    case("(?U)a+?", ["aaa"], [""]),
    case("^a$", ["a"], ["a\n", "\na"]),
    case("(?m)^a$\n^b$", ["a\nb"], ["a\nc"]),
    case("^a$\n^b$", [], ["a\nb"]),
    case(r"\Aa\z", ["a"], ["a\n"]),
    case(r"\bab\b \b(c|-)", ["ab c"], ["ab -", "ab"]),
    case(r"a\Bb", ["ab"], ["a b"]),
    case(r"\bé", [], ["é"]),
    case("^*a", ["a"], ["^a"]),
    case("()", [""], ["()"]),
    case("(|a)+", ["", "aa"], ["b"]),
    case(r"\C", ["a"], ["é", ""]),
    case(r"\C\C", ["é", "ab"], ["a", "€"]),
    case(r"a\C*b", ["ab", "a€\U0001f600b"], ["a"]),
    case(r"(\C|x)\C.", ["éx", "xyé"], ["é"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("shape", [(), (0, 2), (1, 2)])
def test_results_have_the_shape_of_the_strings(shape: tuple[int, ...]) -> None:
    x = np.full(shape, "a", object)
    assert_case(Case("RegexFullMatch", 20, [x], [np.full(shape, True)], {"pattern": "a"}))


def test_the_pattern_is_needed() -> None:
    with pytest.raises(EvaluationError, match="the attribute pattern must be given"):
        assert_case(Case("RegexFullMatch", 20, [np.array(["a"], object)], [...]))
    with pytest.raises(InferenceError, match="the attribute pattern must be given"):
        infer_node("RegexFullMatch", 20, [None])


def test_a_wrong_pattern_is_found_before_running() -> None:
    with pytest.raises(InferenceError, match="a group is not closed"):
        infer_node("RegexFullMatch", 20, [None], {"pattern": "("})


def test_types_of_results() -> None:
    n = symbol("N")
    x = TensorType(DataType.STRING, (n, 2))
    assert infer_node("RegexFullMatch", 20, [x], {"pattern": "a"}) == [TensorType(DataType.BOOL, (n, 2))]


def test_work_is_limited() -> None:
    costly = case("(a|b)*a(a|b){12}", [], [format(7**90, "b").translate({48: "a", 49: "b"}) + "c"])
    interpreter = Interpreter(model_of(costly), limits=RunLimits(iterations=1000))
    with pytest.raises(LimitError, match=r"limits\.iterations"):
        interpreter.run({"x0": costly.inputs[0]})
