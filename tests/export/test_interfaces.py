"""Interfaces of libraries: names in C, types and sizes in the header, and inputs that no library can have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from models import parse_model
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.export.functions import compile_library
from sardonyx._src.export.header import LibraryFacts, comment, header_text
from sardonyx._src.export.interface import LibraryInterface, Port, c_names

needs_libraries = pytest.mark.skipif(
    saved_program_machine() is None, reason="libraries are not compiled here"
)


def test_names_are_identifiers_and_differ() -> None:
    names = ["x", "x:0", "input.1", "1", "", "while", "Größe", "x_0", "X", "_Reserved", "a__b"]
    assert c_names(names) == [
        "x",
        "x_0",
        "input_1",
        "x1",
        "x_2",
        "while_",
        "Gr_e",
        "x_0_2",
        "X_3",
        "Reserved",
        "a_b",
    ]


def test_ports_have_the_types_of_c() -> None:
    port = Port("z", "z", DataType.COMPLEX64, (2, 3))
    assert (port.c_type, port.c_elements, port.alignment) == ("float", 12, 4)
    port = Port("h", "h", DataType.BFLOAT16, ())
    assert (port.c_type, port.c_elements, port.alignment) == ("uint16_t", 1, 2)
    port = Port("e", "e", DataType.INT64, (0, 3))
    assert (port.c_type, port.c_elements, port.alignment) == ("int64_t", 0, 0)
    assert {
        Port("b", "b", dtype, ()).c_type for dtype in (DataType.BOOL, DataType.FLOAT8E5M2, DataType.UINT4)
    } == {"uint8_t"}


def test_the_header_states_sizes_and_types() -> None:
    ports = (Port("x", "x", DataType.FLOAT, (2, 3)),), (Port("n", "n", DataType.INT64, ()),)
    text = header_text(LibraryFacts("net", "g", LibraryInterface(*ports), 128, 64))
    for line in (
        "#define NET_ARENA_BYTES 128UL",
        "#define NET_WEIGHT_BYTES 64UL",
        "#define NET_INPUT_X_ELEMENTS 6UL",
        "#define NET_INPUT_X_DIMS {2, 3}",
        "#define NET_OUTPUT_N_RANK 0",
        "    const float *x; /* x: float [2, 3] */",
        "    int64_t *n; /* n: int64 [] */",
    ):
        assert line in text.splitlines()
    assert "NET_OUTPUT_N_DIMS" not in text
    assert "const void *weights" in text


def test_a_model_without_inputs_has_a_struct_with_a_member() -> None:
    text = header_text(LibraryFacts("net", "g", LibraryInterface((), ()), 128, None))
    assert text.count("void *none;") == 2


def test_no_text_of_a_model_ends_a_comment() -> None:
    assert comment("a */ b /* c \\ é\n") == "a * / b / * c / ??"


@needs_libraries
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("g (float[N,2] x) => (float[N,2] y) { y = Neg(x) }", "--dim N=8"),
        ("g (float[?] x) => (float[?] y) { y = Neg(x) }", "sizes that are numbers"),
        ("g (string[2] x) => (string[2] y) { y = Identity(x) }", "'x' (string[2])"),
        ("g (seq(float[2]) x) => (float[2] y) <int64 i = {0}> { y = SequenceAt(x, i) }", "'x' (seq"),
        ("g (float[4] x) => (int64[1,n] y) { y = NonZero(x) }", "sizes of 'y' depend on elements"),
        (
            "g (float[2,3] x, int64[1] axes) => (float[a] y) { y = ReduceSum <keepdims = 0> (x, axes) }",
            "'axes'",
        ),
    ],
)
def test_what_no_library_can_run_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        compile_library(parse_model(text), tmp_path)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("prefix", ["", "2x", "_x", "a-b", "int", "é"])
def test_a_prefix_is_an_identifier(prefix: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="prefix must be an identifier"):
        compile_library(parse_model("g (float[2] x) => (float[2] y) { y = Neg(x) }"), tmp_path, prefix=prefix)


def test_a_constant_is_an_input(tmp_path: Path) -> None:
    model = parse_model("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    with pytest.raises(InputError, match="must be inputs"):
        compile_library(model, tmp_path, constants={"z": [1]})
