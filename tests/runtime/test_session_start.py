"""The start of sessions: `stats.stage`, kernels of a library, and sessions that use none of them."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from compile.library_kernels import library_kernels, recorded_kernels
from models import parse_model
from runtime.test_specialization import ONE_IF
from sardonyx._src.compile.linker import features
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.llvm.kernel_origin import Start
from sardonyx._src.compile.llvm.loaded_kernels import LoadedKernel
from sardonyx._src.runtime.programs.stats import SessionStats

TEXT = "%s (float[N,8] x) => (float[N,8] y) { a = Exp(x)  y = Softmax(a) }"
REPLACED: list[dict[str, LoadedKernel]] = []  # kernels that programs may call as long as the process lives
X = np.random.default_rng(0).standard_normal((5, 8), np.float32)

pytestmark = pytest.mark.skipif(not host_target().class_name, reason="the processor is of no class")


def origins(stats: SessionStats) -> tuple[str, bool, bool]:
    """The stage, and whether there are kernels of the library, and others."""
    return stats.stage, stats.library_kernels > 0, stats.compiled_kernels > 0


@pytest.fixture
def library() -> Iterator[bytes]:
    """A model whose kernels the library of this process has; no program of it is cached."""
    model = parse_model(TEXT % f"g{np.random.default_rng().integers(1 << 60)}")
    with recorded_kernels():
        opened(model, "compiled")
    loaded: dict[str, LoadedKernel] = {}
    REPLACED.append(loaded)
    with library_kernels(loaded):
        yield encoded(model)


def encoded(model: sx.ir.Model) -> bytes:
    sx.save(model, content := io.BytesIO())
    return content.getvalue()


def opened(source: bytes | sx.ir.Model, start: Start = "library") -> sx.Session:
    return sx.Session(source, engine="native", threads=1, start=start)


def test_sessions_without_a_library_compile() -> None:
    session = opened(parse_model(TEXT % "g"))
    assert origins(session.stats) == ("compiled", False, True)


def test_the_reference_engine_has_no_kernels() -> None:
    session = sx.Session(parse_model(TEXT % "g"), engine="reference")
    assert origins(session.stats) == ("reference", False, False)


def test_a_session_uses_the_library_unless_it_starts_compiled(library: bytes) -> None:
    model = sx.load(library)
    first, second = opened(model), opened(model, "compiled")
    assert origins(first.stats) == ("library", True, False)
    assert origins(second.stats) == ("compiled", False, True)
    assert second.stats.compiled_kernels == first.stats.library_kernels
    for _ in range(2):  # the first session goes on with the code that the second has replaced
        assert first.run({"x": X})["y"].tobytes() == second.run({"x": X})["y"].tobytes()
    assert origins(opened(model).stats) == ("compiled", False, True), "that code is loaded already"


@pytest.mark.skipif(features.saved_program_machine() is None, reason="programs are not saved here")
def test_a_cached_program_with_kernels_of_a_library_is_replaced_by_a_compiled_one(library: bytes) -> None:
    def open_and_run(start: Start) -> tuple[SessionStats, bytes]:
        session = opened(library, start)
        return session.stats, session.run({"x": X})["y"].tobytes()

    results = [open_and_run(start) for start in ("library", "library", "compiled", "compiled", "library")]
    assert [(stats.compilations, stats.stage) for stats, _ in results] == [
        (1, "library"),
        (0, "library"),
        (1, "compiled"),
        (0, "compiled"),
        (0, "compiled"),
    ]
    assert len({y for _, y in results}) == 1


@pytest.mark.parametrize("start", ["library", "compiled"])
def test_programs_for_branches_have_the_origin_of_the_session(start: Start) -> None:
    feeds = {"x": X[:, :4], "c": np.array(False)}
    model = parse_model(ONE_IF)
    with recorded_kernels():
        session = opened(model, "compiled")
        for _ in range(2):
            session.run(feeds)
    loaded: dict[str, LoadedKernel] = {}
    REPLACED.append(loaded)
    with library_kernels(loaded):
        session = opened(encoded(model), start)
        for _ in range(3):
            np.testing.assert_allclose(
                session.run(feeds)["y"], 1 / (1 + np.exp(-(np.sin(X[:, :4]) ** 2))), 1e-5
            )
        assert session.stats.specializations == 1
        assert session.stats.stage == start


@pytest.mark.skipif(features.saved_program_machine() is None, reason="programs are not saved here")
def test_a_compiled_file_has_the_kernels_with_which_it_was_written(library: bytes, tmp_path: Path) -> None:
    from sardonyx._src.runtime.saved_programs.writing import save_compiled

    save_compiled(sx.load(library), tmp_path / "m.sdx")
    for start in ("library", "compiled"):
        session = sx.Session(tmp_path / "m.sdx", start=start)
        assert origins(session.stats) == ("library", True, False)


def test_a_pickled_session_keeps_its_start(library: bytes) -> None:
    session = pickle.loads(pickle.dumps(opened(library, "compiled")))
    assert isinstance(session, sx.Session)
    assert origins(session.stats) == ("compiled", False, True)


def test_a_wrong_start_is_an_error() -> None:
    with pytest.raises(sx.errors.InputError, match=r"start must be one of 'library', 'compiled'; got 'fast'"):
        sx.Session(parse_model(TEXT % "g"), start="fast")  # type: ignore[arg-type]
