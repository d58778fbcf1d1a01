"""Libraries of compiled kernels: their files, and sessions that compile nothing."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.compile.linker.elf import EM_AARCH64, EM_RISCV, ElfObject
from sardonyx._src.compile.linker.link import is_self_contained, link_objects
from sardonyx._src.compile.llvm import jit, kernel_library, loaded_kernels
from sardonyx._src.compile.llvm.cache import ObjectCache
from sardonyx._src.compile.llvm.jit import compile_module, host_target
from sardonyx._src.compile.llvm.kernel_library import (
    ALL_CLASSES,
    BLOCK,
    CLASS,
    ENTRY,
    FILTERS,
    SUFFIX,
    class_library,
    write_library,
)
from sardonyx._src.compile.llvm.loaded_kernels import kernel_code, kernel_module
from sardonyx._src.compile.llvm.target_classes import AARCH64, CLASSES, target_of
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.runtime.limits.thread_pool import run_loop_module
from sardonyx._src.runtime.programs.arrays import FIELDS, entry_module

MODEL = '<ir_version: 10, opset_import: ["": 21]> g (float[N, 8] x) => (float[N, 8] y) { z = Exp(x)  y = Softmax(z) }'
CODES = {f"kernel {i}": bytes([i % 251]) * (i * 7 % 900) for i in range(300)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the libraries of this process, without libraries."""
    monkeypatch.setattr(kernel_library, "FOLDER", tmp_path)
    monkeypatch.setattr(kernel_library, "default_folder", lambda: None)
    class_library.cache_clear()
    yield tmp_path
    class_library.cache_clear()


def test_every_kernel_is_found(folder: Path) -> None:
    write_library(folder / f"c{SUFFIX}", {"c": CODES})
    library = class_library("c")
    assert library is not None
    assert {name: library.get(name) for name in CODES} == CODES
    assert library.get("kernel") is None
    assert class_library("another class") is None


def test_a_library_without_kernels_has_none(folder: Path) -> None:
    write_library(folder / f"c{SUFFIX}", {"c": {}})
    library = class_library("c")
    assert library is not None
    assert library.get("kernel 1") is None


def test_classes_share_equal_code(folder: Path) -> None:
    """A second class with the same code adds its entries, and nothing else; one that differs in a kernel, that kernel."""
    other = {**CODES, "another:x": b"code"}
    write_library(folder / "one", {"c": other})
    write_library(folder / "two", {"c": other, "d": other})
    write_library(
        folder / ALL_CLASSES, {"c": other, "d": {**other, "another:x": b"!"}, "e": {"kernel 5": b"?"}}
    )
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    entries = CLASS.size + len(other) * ENTRY.size
    assert sizes["two"] == sizes["one"] + entries
    changes = (
        CLASS.size
        + ENTRY.size
        + 2 * (BLOCK.size + len(lzma.compress(b"?", lzma.FORMAT_RAW, filters=FILTERS)))
    )
    assert sizes[ALL_CLASSES] == sizes["two"] + changes
    for name in ("c", "d"):
        library = class_library(name)
        assert library is not None
        assert {name: library.get(name) for name in CODES} == CODES
    library = class_library("e")
    assert library is not None
    assert (library.get("kernel 5"), library.get("kernel 7")) == (b"?", None)
    assert class_library("f") is None


def test_code_that_differs_in_one_kernel_of_a_kind_is_stored_once(folder: Path) -> None:
    """The other kernels of the kind have the places that they have in the first class."""
    write_library(folder / "one", {"c": CODES})
    write_library(folder / ALL_CLASSES, {"c": CODES, "d": {**CODES, "kernel 5": b"?"}})
    change = CLASS.size + len(CODES) * ENTRY.size + BLOCK.size
    change += len(lzma.compress(b"?", lzma.FORMAT_RAW, filters=FILTERS))
    assert (folder / ALL_CLASSES).stat().st_size == (folder / "one").stat().st_size + change
    for name, code in (("c", CODES["kernel 5"]), ("d", b"?")):
        library = class_library(name)
        assert library is not None
        assert {name: library.get(name) for name in CODES} == {**CODES, "kernel 5": code}


def test_equal_code_of_a_class_is_stored_once(folder: Path) -> None:
    code = np.random.default_rng(0).bytes(5000)  # does not become shorter
    write_library(folder / f"c{SUFFIX}", {"c": {"first 1": code, "first 2": code, "second": code}})
    assert (folder / f"c{SUFFIX}").stat().st_size < 6000
    library = class_library("c")
    assert library is not None
    assert [library.get(name) for name in ("first 1", "first 2", "second")] == [code] * 3


@pytest.mark.parametrize("content", [b"", b"SXKERN", b"\xff" * 5000], ids=["empty", "short", "other"])
def test_a_file_that_is_no_library_is_not_used(folder: Path, content: bytes) -> None:
    (folder / f"c{SUFFIX}").write_bytes(content)
    assert class_library("c") is None


def test_a_library_of_other_sources_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_library(folder / f"c{SUFFIX}", {"c": CODES})
    monkeypatch.setattr(kernel_library, "sources_digest", lambda: "0" * 64)
    assert class_library("c") is None


def test_a_damaged_kernel_is_compiled(folder: Path) -> None:
    path = folder / f"c{SUFFIX}"
    write_library(path, {"c": CODES})
    content = bytearray(path.read_bytes())
    content[-3000:] = bytes(3000)
    path.write_bytes(content)
    library = class_library("c")
    assert library is not None
    codes = {name: library.get(name) for name in CODES}
    damaged = [name for name, code in codes.items() if code is None]
    assert damaged
    assert {name: code for name, code in codes.items() if code is not None}.items() <= CODES.items()


def test_a_session_compiles_nothing_that_the_library_has(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code of the library has the results of code that is compiled here."""
    class_name = host_target().class_name
    if not class_name:
        pytest.skip("the processor is of no class")
    model, x = sx.from_text(MODEL), np.random.default_rng(0).standard_normal((5, 8), np.float32)
    expected = sx.Session(model, engine="native").run({"x": x})["y"]
    kernels = compile_model(model, host_target()).program.kernels
    codes = {kernel.key: kernel_code(kernel, host_target()) for kernel in kernels}
    write_library(folder / f"{class_name}{SUFFIX}", {class_name: codes})
    class_library.cache_clear()

    def refuse(*_: object, **__: object) -> bytes:
        raise AssertionError("the library has the kernel")

    monkeypatch.setattr(loaded_kernels, "default_cache", lambda: None)
    monkeypatch.setattr(loaded_kernels, "LOADED", {})
    monkeypatch.setattr(jit, "compile_module", refuse)
    assert {kernel.key: kernel_code(kernel, host_target()) for kernel in kernels} == codes
    with pytest.raises(AssertionError, match="the library has the kernel"):
        jit.object_code(jit.Module("another", kernel_module(kernels[0], host_target()).text), None)
    monkeypatch.setattr(jit, "compile_module", compile_module)
    assert sx.Session(model, engine="native").run({"x": x})["y"].tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["aarch64", "aarch64-i8mm", "riscv64", "riscv64-v"])
def test_code_for_other_machines_is_linked_as_on_them(name: str) -> None:
    """LLVM compiles for any machine, and our linker has the relocations of the code; all calls are to known functions."""
    target_class = next(c for c in CLASSES if c.name == name)
    target = target_of(target_class, target_class.triple, host_target().compiler)
    model = sx.from_text(
        '<ir_version: 10, opset_import: ["": 21]> '
        "g (float[N, 8] x, float[8, 70] w) => (float[N, 70] y) { a = MatMul(x, w)  b = Exp(a)  y = Softmax(b) }"
    )
    modules = [kernel_module(kernel, target) for kernel in compile_model(model, target).program.kernels]
    for module in (*modules, run_loop_module(target), entry_module(target, FIELDS)):
        code = jit.compile_module(module.text(), target)
        elf = ElfObject(code)
        assert elf.machine == (EM_AARCH64 if target_class.machine == AARCH64 else EM_RISCV)
        assert is_self_contained(elf)
        functions = [s.name for s in elf.symbols if s.name and s.section and not s.is_local]
        assert link_objects([code], functions).functions.keys() == set(functions)


def test_the_most_used_kernels_are_decompressed_alone(folder: Path) -> None:
    """What comes after a kernel in its block stays compressed; kernels before it can be read later."""
    codes = {f"kernel {name}": bytes([name]) * 50000 for name in (9, 1, 5)}
    write_library(folder / f"c{SUFFIX}", {"c": codes})
    library = class_library("c")
    assert library is not None
    for name, read in ((9, 50000), (5, 150000), (1, 150000)):
        assert library.get(f"kernel {name}") == codes[f"kernel {name}"]
        assert len(kernel_library.open_block(library, 0).content) == read


def test_without_lzma_there_is_no_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_library(folder / f"c{SUFFIX}", {"c": CODES})
    monkeypatch.setattr(kernel_library, "find_spec", lambda name: None)
    assert class_library("c") is None


def test_code_of_a_library_needs_no_digest_of_the_sources(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed library is of the sources beside it; reading all of them would take longer than most kernels."""
    if not (class_name := host_target().class_name):
        pytest.skip("the processor is of no class")
    write_library(folder / f"{class_name}{SUFFIX}", {class_name: CODES})
    class_library.cache_clear()
    assert class_library(class_name) is not None

    def refuse() -> str:
        raise AssertionError("the sources are read")

    monkeypatch.setattr(jit, "sources_digest", refuse)
    module = jit.Module("kernel 5", lambda: "")
    assert jit.object_code(module, ObjectCache(folder)) == CODES["kernel 5"]
    jit.compile_module_async(module, ObjectCache(folder))
