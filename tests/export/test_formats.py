"""Files of libraries: equal bytes for equal models, classes of processors, and what a format cannot hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from export.loaded_library import LoadedLibrary
from export.small_models import small_model
from models import parse_model
from sardonyx._src.compile.linker.elf import EM_AARCH64, EM_RISCV, EM_X86_64, ElfObject
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.errors import InputError, LimitError
from sardonyx._src.export.formats import EMITS, Emit
from sardonyx._src.export.formats.archive import MAX_MEMBER_BYTES, archive_content
from sardonyx._src.export.formats.elf_parts import Content
from sardonyx._src.export.formats.shared_object import hash_table
from sardonyx._src.export.functions import compile_library

pytestmark = pytest.mark.skipif(saved_program_machine() is None, reason="libraries are not compiled here")
MACHINES = {"x86-64-v3": EM_X86_64, "aarch64": EM_AARCH64, "riscv64": EM_RISCV}


@pytest.mark.parametrize("emit", EMITS)
def test_equal_models_have_equal_files(emit: Emit, tmp_path: Path) -> None:
    libraries = [compile_library(small_model("product"), tmp_path / name, emit=emit) for name in "ab"]
    first, second = ([path.read_bytes() for path in library.paths] for library in libraries)
    assert first == second


@pytest.mark.parametrize("processor", MACHINES)
def test_an_object_is_for_the_machine_of_its_class(processor: str, tmp_path: Path) -> None:
    library = compile_library(small_model("loop"), tmp_path, emit="object", processor=processor)
    parsed = ElfObject(library.library.read_bytes())
    assert parsed.machine == MACHINES[processor]
    assert {relocation.offset for relocation in parsed.relocations()} == {0}
    assert [symbol.name for symbol in parsed.symbols if not symbol.is_local] == [
        "model_run",
        "model_error_text",
    ]


def test_a_class_with_tiles_is_replaced_by_its_base(tmp_path: Path) -> None:
    compile_library(small_model("copy"), tmp_path, emit="object", processor="x86-64-v4-amx")
    assert "x86-64-v4-bf16." in (tmp_path / "model.h").read_text()


@pytest.mark.skipif(saved_program_machine() != "x86_64", reason="requires a processor of x86-64")
def test_processors_without_rounding_instructions_call_functions_of_the_library(tmp_path: Path) -> None:
    model = parse_model(
        "g (float[6] x, double[6] z) => (float[6] a, double[6] b, float[6] c) { a = Floor(x) b = Ceil(z) c = Round(x) }"
    )
    library = LoadedLibrary(compile_library(model, tmp_path, emit="shared", processor="x86-64"))
    x = np.array([-1.5, -0.0, 0.5, 1.5, 2.5, np.inf])
    results = library.run({"x": x.astype(np.float32), "z": x})
    np.testing.assert_array_equal(results["a"], np.array([-2, -0.0, 0, 1, 2, np.inf], np.float32))
    np.testing.assert_array_equal(results["b"], [-1, -0.0, 1, 2, 3, np.inf])
    np.testing.assert_array_equal(results["c"], np.array([-2, -0.0, 0, 2, 2, np.inf], np.float32))


def test_a_class_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="target must be one of"):
        compile_library(small_model("copy"), tmp_path, processor="sparc")


def test_an_archive_has_a_limit() -> None:
    with pytest.raises(LimitError, match="less than 4 GiB"):
        archive_content("model.o", Content(MAX_MEMBER_BYTES, ()), ["model_run"])


def test_the_hash_table_is_a_list_of_all_symbols() -> None:
    """System V ABI, figure 5-13: numbers of buckets and of chain entries, buckets, and the chain, which ends with 0."""
    assert np.frombuffer(hash_table(3), "<u4").tolist() == [1, 3, 1, 0, 2, 0]
