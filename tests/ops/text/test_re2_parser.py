import pytest

from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.ops.text.re2 import automaton
from sardonyx._src.ops.text.re2.automaton import Matcher, compile_expression


@pytest.mark.parametrize(
    ("pattern", "message"),
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
        ("a{1001}", r"pattern must .*; got \{1001\} \(at character 7\)"),
        ("a{2,1}", r"pattern must .*; got \{2,1\} \(at character 6\)"),
        ("a{99999999999}", r"pattern must .*; got \{99999999999\} \(at character 14\)"),
        ("(a{100}){11}", "a part must be repeated at most 1000 times"),
        ("((a{10}b){10}){11}", "a part must be repeated at most 1000 times"),
        ("[b-a]", r"pattern must .*; got 'b' to 'a' \(at character 4\)"),
        (r"[a-\d]", r"pattern must .*; got '\[a-\\\\d\]': \\d is not an escape \(at character 5\)"),
        ("[[:foo:]]", r"pattern must .*; got '\[\[:foo:\]\]': \[:foo:\] is not a character"),
        (r"\1", "backreference"),
        (r"\Z", r"pattern must .*; got '\\\\Z': \\Z is not an escape \(at character 2\)"),
        (r"\E", r"pattern must .*; got '\\\\E': \\E is not an escape \(at character 2\)"),
        (r"\é", r"pattern must .*; got '\\\\é': \\é is not an escape \(at character 2\)"),
        ("a\\", r"pattern must .*; got 'a\\\\': \\ is not an escape \(at character 3\)"),
        (r"[\b]", r"pattern must .*; got '\[\\\\b\]': \\b is not an escape \(at character 3\)"),
        (r"\x4", "two hexadecimal digits"),
        (r"\x{}", "two hexadecimal digits"),
        (r"\x{110000}", "code points must be at most 10ffff; got 110000"),
        (r"\pX", "must name a category or script"),
        (r"\p{Klingon}", "must name a category or script"),
        (r"\p{Cn}", "must name a category or script"),
        (r"\p{Lu", "must name a category or script"),
        ("(?=a)", r"pattern must .*; got '\(\?=a\)': \(\? must be followed by flags"),
        ("(?!a)", r"pattern must .*; got '\(\?!a\)': \(\? must be followed by flags"),
        ("(?<=a)", r"pattern must .*; got '\(\?<=a\)': \(\? must be followed by flags"),
        ("(?<!a)", r"pattern must .*; got '\(\?<!a\)': \(\? must be followed by flags"),
        ("(?>a)", r"pattern must .*; got '\(\?>a\)': \(\? must be followed by flags"),
        ("(?#a)", r"pattern must .*; got '\(\?#a\)': \(\? must be followed by flags"),
        ("(?P=a)", r"pattern must .*; got '\(\?P=a\)': \(\? must be followed by flags"),
        ("(?x)a", r"pattern must .*; got '\(\?x\)a': \(\? must be followed by flags"),
        ("(?-)a", r"pattern must .*; got '\(\?-\)a': \(\? must be followed by flags"),
        ("(?i", r"pattern must .*; got '\(\?i': \(\? must be followed by flags or"),
        ("(?P<a", r"pattern must .*; got '\(\?P<a': a group name must be a"),
        ("(?P<>a)", r"pattern must .*; got '\(\?P<>a\)': a group name must be a"),
        ("(?P<a b>a)", r"pattern must .*; got '\(\?P<a b>a\)': a group name must be a"),
        (
            "(" * 1001 + ")" * 1001,
            r"pattern must .*; got '\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(\(",
        ),
    ],
)
def test_what_re2_refuses_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        compile_expression(pattern)


@pytest.mark.parametrize(
    ("pattern", "limit"),
    [
        ("(" + "abcdefghij" * 20 + "){1000}", "MAX_STATES"),
        ("a{1000}" * 201, "MAX_STATES"),
        ("[" * 100_001, "MAX_PATTERN_LENGTH"),
    ],
)
def test_what_is_too_large_passes_a_limit(pattern: str, limit: str) -> None:
    with pytest.raises(LimitError, match=limit):
        compile_expression(pattern)


def test_ranges_of_sets_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automaton, "MAX_RANGES", 3)
    compile_expression("[ace][ace][ace]")  # one set
    with pytest.raises(LimitError, match=r"the character sets of the pattern must .*; got 4 \(limit"):
        compile_expression("[ace]x[ace]")


def test_a_pattern_has_to_be_utf_8() -> None:
    with pytest.raises(
        EvaluationError, match=r"pattern must .*; got 'a\\udcff': it is not valid UTF-8 \(at character 0\)"
    ):
        compile_expression("a\udcff")


def test_the_message_shows_the_pattern_and_the_position() -> None:
    with pytest.raises(
        EvaluationError, match=r"pattern must .*; got 'ab\(\?=c\)': \(\? must be followed by flags"
    ):
        compile_expression("ab(?=c)")


@pytest.mark.parametrize("pattern", ["(" * 900 + ")" * 900, "((a+)+)+" * 20, "a{1000}", "((x{10}){10}){10}"])
def test_what_re2_takes_is_taken(pattern: str) -> None:
    compile_expression(pattern)


def test_nested_plus_signs_do_not_multiply() -> None:
    pattern = "(" * 30 + "a" + "+)" * 30
    assert Matcher(compile_expression(pattern), 10**6).matches("aaa")
