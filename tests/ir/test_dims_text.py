"""Text of symbolic dims: canonical order, parsing, names from files."""

from __future__ import annotations

import time

import pytest

from sardonyx._src.ir.dims import Expr, Known, dim_max, dim_min, from_param, parse, symbol

H, M, N = (symbol(name) for name in "HMN")


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (N + M, "M+N"),
        (N * 2, "2*N"),
        (3 + N * M, "M*N+3"),
        (N + M * N + N * N, "M*N+N*N+N"),
        (1 - N, "-N+1"),
        (N - M, "N-M"),
        (M - N, "M-N"),
        (-N - M - 2, "-M-N-2"),
        ((H - 1) // 2 + 1, "(H-1)//2+1"),
        (-(N // 2), "-(N//2)"),
        (M - N // 2, "M-N//2"),
        (2 * (N // 4), "2*(N//4)"),
        (M * (N // 4), "M*(N//4)"),
        ((2 * N) // 3, "2*N//3"),
        ((N // M) // H, "(N//M)//H"),
        (N // (M // H), "N//(M//H)"),
        (N // (2 * M), "N//(2*M)"),
        (N // (M + 1), "N//(M+1)"),
        (N // dim_max(M, 1), "N//max(M,1)"),
        ((N % 4) * 3, "3*(N%4)"),
        (dim_max(N + 1, M, 3), "max(M,N+1,3)"),
        (dim_min(N, 3) * dim_max(M, 2), "max(M,2)*min(N,3)"),
        (symbol("batch size") + 1, "'batch size'+1"),
        (symbol("it's") * symbol("a\\b"), r"'a\\b'*'it\'s'"),
        (symbol("") + N, "''+N"),
    ],
)
def test_canonical_text(dim: Known, text: str) -> None:
    assert str(dim) == text
    assert parse(text) == dim


@pytest.mark.parametrize(
    ("text", "dim"),
    [
        ("7", 7),
        ("-7", -7),
        ("007", 7),
        ("1-2-3", -4),
        ("7//2*2", 6),
        ("-7//2", -4),
        ("-7%4", 1),
        ("2*-3", -6),
        ("--N", N),
        ("((N))", N),
        ("N+M", M + N),
        ("max(N)", N),
        ("min(N,4,max(2,3))", dim_min(N, 3)),
        ("max", symbol("max")),
        ("max*2", 2 * symbol("max")),
        ("_a1", symbol("_a1")),
        ("'N'", N),
        ("'N+M'", symbol("N+M")),
        ("N//M//2", (N // M) // 2),
    ],
)
def test_a_text_need_not_be_canonical_to_be_read(text: str, dim: Known) -> None:
    assert parse(text) == dim


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "N M",
            "N + 1",
            "+N",
            "N+",
            "N**2",
            "N/2",
            "(N",
            "N)",
            "()",
            "N,M",
            "max()",
            "max(N,)",
            "f(N)",
            "2N",
        ),
        *(
            "N//0",
            "N%0",
            "N//(2-2)",
            "'N",
            "'a\\b'",
            "é",
            "٣",
            "1.5",
            "N\n",
            "[N]",
            "opaque(N)",
            "opaque('0')",
            "?",
            "*",
        ),
        *("(" * 41 + "N" + ")" * 41, "N" * 16385, "9" * 16384, "max(" * 9999),
    ],
)
def test_other_texts_are_no_expressions(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the place is in the message, the rest differs
        parse(text)


def test_a_parse_error_names_the_position() -> None:
    with pytest.raises(
        ValueError, match=r"character 2: expected a number, a name, an operator or a parenthesis; got '\]'"
    ):
        parse("N+]")
    with pytest.raises(ValueError, match=r"character 4: expected \); got the end"):
        parse("(N+1")


@pytest.mark.parametrize(
    "text", ["N", "M+N", "2*N", "(H-1)//2+1", "max(M,N)", "'batch size'+1", "N%4", "M*N+3"]
)
def test_a_param_in_canonical_form_is_an_expression(text: str) -> None:
    dim = from_param(text)
    assert dim == parse(text)
    assert str(dim) == text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "batch size",
            "s0 + 1",
            "?",
            "",
            "*",
            "N+M",
            "max(N,M)",
            "N+0",
            "(N)",
            "3",
            "-3",
            "N//0",
            "f(N)",
            "N/2",
            "é",
        ),
        *("'N'", "'batch size'", "None", "\n", "\ud800", "N" * 20000, "(" * 9999, "1" * 9999, "it's", "\\"),
    ],
)
def test_any_other_param_is_a_symbol_of_that_name(text: str) -> None:
    dim = from_param(text)
    assert dim == symbol(text)
    assert dim.symbols() == {text}
    assert str(dim) == text


@pytest.mark.parametrize("name", ["M+N", "N*2+1", "M*N+3", "N%4", "'M+N'", "'a b'+1", "batch-size"])
def test_a_name_is_never_taken_for_the_expression_of_its_text(name: str) -> None:
    dim = symbol(name)
    assert dim.symbols() == {name}
    assert dim != parse(name)
    assert str(dim) == str(from_param(str(dim)))
    assert from_param(str(dim)) == dim
    assert dim == N + dim - N


def test_a_name_that_is_an_expression_is_quoted() -> None:
    assert str(symbol("M+N")) == "'M+N'"
    assert str(symbol("'M+N'")) == r"'\'M+N\''"
    assert str(symbol("N+M")) == "N+M"  # it is not the canonical text of the sum
    assert str(symbol("N+M") + 1) == "'N+M'+1"


def test_repr_reads_back() -> None:
    assert repr(N + 1) == "from_param('N+1')"


def test_the_longest_texts_are_read_in_seconds() -> None:
    names = ",".join("abcdefgh")
    text = "+".join([f"max({names})*(a-b)//c%7"] * 500)
    assert len(text) < 16384
    start = time.perf_counter()
    assert isinstance(parse(text), Expr)
    assert time.perf_counter() - start < 10


def test_equal_texts_are_parsed_once() -> None:
    assert from_param("8*(once+3)//7") is from_param("".join(["8*(once", "+3)//7"]))
