import pytest

from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.ops.text.re2 import automaton
from sardonyx._src.ops.text.re2.automaton import Matcher, compiled


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(", "a group is not closed"),
        (")", "a group is closed that is not open"),
        ("[a", "a character class is not closed"),
        ("[]", "a character class is not closed"),
        ("*a", r"\* repeats nothing"),
        ("a|*", r"\* repeats nothing"),
        ("(+)", r"\+ repeats nothing"),
        ("a**", r"\*\* repeats a repetition"),
        ("a++", r"\+\+ repeats a repetition"),
        ("a*?{2}", "repeats a repetition"),
        ("a{2}{3}", "repeats a repetition"),
        ("a{1001}", "is no count"),
        ("a{2,1}", "is no count"),
        ("a{99999999999}", "is no count"),
        ("(a{100}){11}", "repeats a part more than 1000 times"),
        ("((a{10}b){10}){11}", "repeats a part more than 1000 times"),
        ("[b-a]", "the range 'b' to 'a' is empty"),
        (r"[a-\d]", "is no escape"),
        ("[[:foo:]]", r"\[:foo:\] is no class"),
        (r"\1", "backreference"),
        (r"\Z", r"\\Z is no escape"),
        (r"\E", r"\\E is no escape"),
        (r"\é", "is no escape"),
        ("a\\", "is no escape"),
        (r"[\b]", "is no escape"),
        (r"\x4", "two hexadecimal digits"),
        (r"\x{}", "two hexadecimal digits"),
        (r"\x{110000}", "there is no character 110000"),
        (r"\pX", "names no category or script"),
        (r"\p{Klingon}", "names no category or script"),
        (r"\p{Cn}", "names no category or script"),
        (r"\p{Lu", "names no category or script"),
        ("(?=a)", "neither a flag nor a name"),
        ("(?!a)", "neither a flag nor a name"),
        ("(?<=a)", "neither a flag nor a name"),
        ("(?<!a)", "neither a flag nor a name"),
        ("(?>a)", "neither a flag nor a name"),
        ("(?#a)", "neither a flag nor a name"),
        ("(?P=a)", "neither a flag nor a name"),
        ("(?x)a", "neither a flag nor a name"),
        ("(?-)a", "neither a flag nor a name"),
        ("(?i", "neither a flag nor a name"),
        ("(?P<a", "no proper name"),
        ("(?P<>a)", "no proper name"),
        ("(?P<a b>a)", "no proper name"),
        ("(" * 1001 + ")" * 1001, "nested more than 1000 deep"),
    ],
)
def test_what_re2_refuses_is_refused(pattern: str, says: str) -> None:
    with pytest.raises(EvaluationError, match=says):
        compiled(pattern)


@pytest.mark.parametrize(
    ("pattern", "limit"),
    [
        ("(" + "abcdefghij" * 20 + "){1000}", "MOST_STATES"),
        ("a{1000}" * 201, "MOST_STATES"),
        ("[" * 100_001, "LONGEST"),
    ],
)
def test_what_is_too_large_passes_a_limit(pattern: str, limit: str) -> None:
    with pytest.raises(LimitError, match=limit):
        compiled(pattern)


def test_ranges_of_sets_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automaton, "MOST_RANGES", 3)
    compiled("[ace][ace][ace]")  # one set
    with pytest.raises(LimitError, match="sets of characters in the pattern have 4 ranges"):
        compiled("[ace]x[ace]")


def test_a_pattern_has_to_be_utf_8() -> None:
    with pytest.raises(EvaluationError, match="it is no UTF-8"):
        compiled("a\udcff")


def test_the_message_shows_the_pattern_and_the_place() -> None:
    with pytest.raises(
        EvaluationError, match=r"pattern 'ab\(\?=c\)' is no regular expression of RE2: .* \(at character 5\)"
    ):
        compiled("ab(?=c)")


@pytest.mark.parametrize("pattern", ["(" * 900 + ")" * 900, "((a+)+)+" * 20, "a{1000}", "((x{10}){10}){10}"])
def test_what_re2_takes_is_taken(pattern: str) -> None:
    compiled(pattern)


def test_nested_plus_signs_do_not_multiply() -> None:
    pattern = "(" * 30 + "a" + "+)" * 30
    assert Matcher(compiled(pattern), 10**6).matches("aaa")
