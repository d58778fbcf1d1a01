"""Programs in C and C++ that run libraries, compiled without warnings and linked without other libraries."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from export.small_models import TEXTS, feeds_of, small_model
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.export.formats import EMITS, Emit
from sardonyx._src.export.functions import compile_library
from sardonyx._src.export.interface import Port
from sardonyx._src.export.library import CompiledLibrary
from sardonyx._src.ir import Array

ROOT = Path(__file__).resolve().parents[2]
C = ["gcc", "-std=c89", "-pedantic", "-Wall", "-Wextra", "-Werror"]
CPP = ["g++", "-std=c++98", "-pedantic", "-Wall", "-Wextra", "-Werror", "-x", "c++"]
COMPILERS = {"c": C, "c++": CPP}
pytestmark = [
    pytest.mark.skipif(saved_program_machine() is None, reason="libraries are not loaded here"),
    pytest.mark.skipif(not shutil.which("gcc") or not shutil.which("g++"), reason="requires gcc and g++"),
]
DRIVER = """\
#include <stdio.h>
#include <stdlib.h>
%(includes)s

static void *owned[256];
static int count;

static void *aligned(size_t size)
{
    char *memory = (char *) malloc(size + 64);
    owned[count++] = memory;
    return memory + (64 - (size_t) memory %% 64) %% 64;
}

static size_t filled(const char *path, void *data, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t read = file == NULL ? 0 : fread(data, 1, size, file);
    if (file != NULL) fclose(file);
    return read;
}

int main(void)
{
    FILE *results = fopen("results", "wb");
%(runs)s
    while (count > 0) free(owned[--count]);
    return fclose(results);
}
"""
RUN = """\
    {
        %(prefix)s_inputs inputs;
        %(prefix)s_outputs outputs;
        void *arena = aligned(%(upper)s_ARENA_BYTES);
        int outcome;
%(inputs)s
%(outputs)s
        outcome = %(prefix)s_run(&inputs, &outputs, arena, %(upper)s_ARENA_BYTES);
        if (outcome != %(upper)s_OK) { puts(%(prefix)s_error_text(outcome)); return 1; }
%(writes)s
    }"""


def run_text(prefix: str, library: CompiledLibrary) -> str:
    """The statements that run a library on files named by its inputs, and append its outputs to the results."""
    names = {"prefix": prefix, "upper": prefix.upper()}
    reads, allocations, writes = [], [], []
    for port in library.interface.inputs:
        count = f"{prefix.upper()}_INPUT_{port.c_name.upper()}_ELEMENTS"
        size = f"{count} * sizeof({port.c_type})"
        reads.append(
            f"        {{ void *data = aligned({size}); inputs.{port.c_name} = (const {port.c_type} *) data;"
        )
        reads.append(f'          if (filled("{prefix}.{port.c_name}", data, {size}) != {size}) return 2; }}')
    for port in library.interface.outputs:
        size = f"{prefix.upper()}_OUTPUT_{port.c_name.upper()}_ELEMENTS * sizeof({port.c_type})"
        allocations.append(f"        outputs.{port.c_name} = ({port.c_type} *) aligned({size});")
        writes.append(f"        fwrite(outputs.{port.c_name}, 1, {size}, results);")
    return RUN % {
        **names,
        "inputs": "\n".join(reads),
        "outputs": "\n".join(allocations),
        "writes": "\n".join(writes),
    }


def run_program(
    folder: Path, libraries: Mapping[str, CompiledLibrary], language: str, flags: Sequence[str] = ()
) -> bytes:
    """The outputs of a program that runs libraries, by prefix, one after the other."""
    texts = {
        "includes": "\n".join(f'#include "{prefix}.h"' for prefix in libraries),
        "runs": "\n".join(run_text(prefix, library) for prefix, library in libraries.items()),
    }
    (folder / "main.c").write_text(DRIVER % texts)
    files = [str(library.library) for library in libraries.values()]
    compiler = COMPILERS[language]
    words = [*compiler, *flags, "-c", "main.c", "-o", "main.o"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
    words = [compiler[0], *flags, "main.o", *files, "-o", "main", "-Wl,--fatal-warnings"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
    result = subprocess.run(
        [folder / "main"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"LD_LIBRARY_PATH": str(folder)},
    )
    assert result.returncode == 0, f"{result.stdout}{result.stderr}"
    return (folder / "results").read_bytes()


def library_of(folder: Path, name: str, emit: Emit, prefix: str) -> CompiledLibrary:
    """The library of a small model, with its feeds in files."""
    library = compile_library(small_model(name), folder, emit=emit, prefix=prefix)
    for port in library.interface.inputs:
        (folder / f"{prefix}.{port.c_name}").write_bytes(feeds_of(name)[port.name].tobytes())
    return library


def expected(name: str, ports: Sequence[Port]) -> bytes:
    """The outputs of the session."""
    outputs: Mapping[str, Array] = sx.Session(small_model(name), engine="native", threads=1).run(
        feeds_of(name)
    )
    return b"".join(np.asarray(outputs[port.name]).tobytes() for port in ports)


@pytest.mark.parametrize("emit", EMITS)
@pytest.mark.parametrize("language", COMPILERS)
def test_a_program_has_the_bits_of_the_session(language: str, emit: Emit, tmp_path: Path) -> None:
    library = library_of(tmp_path, "product", emit, "product")
    result = run_program(tmp_path, {"product": library}, language)
    assert result == expected("product", library.interface.outputs)


def test_models_of_all_kinds_are_parts_of_one_program(tmp_path: Path) -> None:
    libraries = {name: library_of(tmp_path, name, "static", f"m_{name}") for name in TEXTS}
    by_prefix = {f"m_{name}": library for name, library in libraries.items()}
    result = run_program(tmp_path, by_prefix, "c", ["-fsanitize=address,undefined"])
    assert result == b"".join(expected(name, x.interface.outputs) for name, x in libraries.items())


@pytest.mark.parametrize("flags", [["-static"], ["-static-pie", "-fPIE"], ["-no-pie", "-fno-pie"]])
def test_a_library_is_linked_into_executables_of_all_kinds(flags: list[str], tmp_path: Path) -> None:
    library = library_of(tmp_path, "product", "static", "product")
    result = run_program(tmp_path, {"product": library}, "c", flags)
    assert result == expected("product", library.interface.outputs)


def test_an_object_becomes_a_part_of_another_shared_library(tmp_path: Path) -> None:
    library = library_of(tmp_path, "product", "object", "product")
    words = [
        "gcc",
        "-shared",
        "-nostdlib",
        "-Wl,--no-undefined",
        "-Wl,-z,text",
        str(library.library),
        "-o",
        "other.so",
    ]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True)


@pytest.mark.parametrize("emit", EMITS)
def test_no_symbol_is_undefined_and_all_begin_with_the_prefix(emit: Emit, tmp_path: Path) -> None:
    library = compile_library(small_model("loop"), tmp_path, emit=emit, prefix="net")
    words = ["nm", "-D"] if emit == "shared" else ["nm"]
    text = subprocess.run([*words, library.library], check=True, capture_output=True, text=True).stdout
    symbols = [line.split() for line in text.splitlines() if len(line.split()) == 3]
    assert {(kind, name) for _, kind, name in symbols} == {("T", "net_run"), ("T", "net_error_text")}
    undefined = subprocess.run(
        ["nm", "-u", library.library], check=True, capture_output=True, text=True
    ).stdout
    assert " U " not in undefined


def test_the_program_of_the_page_is_one_of_c(tmp_path: Path) -> None:
    blocks = re.findall(
        r"^```c\n(.*?)^```", (ROOT / "docs/how_to/embed_in_c.md").read_text(), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "main.c").write_text("".join(blocks))
    model = ROOT / "examples/digits/digits.onnx"
    library = compile_library(model, tmp_path, prefix="digits", dims={"N": 1})
    words = [*C, "main.c", str(library.library), "-o", "main"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True)
    images = np.load(ROOT / "examples/digits/test.npz")["image"][:20]
    session = sx.Session(model)
    for image in images:
        text = " ".join(map(str, image))
        run = subprocess.run([tmp_path / "main"], input=text, check=True, capture_output=True, text=True)
        outputs = session.run({"image": image[None]})
        digit = int(outputs["digit"][0])
        assert run.stdout == f"{digit}: {outputs['probability'][0, digit]:.4f}\n"
