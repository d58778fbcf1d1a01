"""`sx.tools.warm`: the disk cache filled for models, and what that took."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from sardonyx._src.arguments import (
    items_of,
    require_choice,
    require_integer,
    require_mapping,
    require_path,
    require_text,
    type_name,
)
from sardonyx._src.compile.llvm.compile_progress import PROGRESS
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.steps.precision import PRECISIONS
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.measure.feeds import complete_feeds
from sardonyx._src.runtime.programs.precision import require_precision
from sardonyx._src.runtime.saved_programs.warming import cache_program, share_specialized, warming
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.runtime.session.session_origin import MAX_THREADS

MODEL_SUFFIX = ".onnx"  # of the files in folders
FileIdentity = tuple[str, int, int]  # path, inode, time of modification


@dataclass(frozen=True, slots=True)
class WarmedModel:
    """What was cached for a model.

    path: of its file.
    compiled: whether its program was compiled; otherwise the cache had it.
    kernels_compiled, kernels_found: the modules of native code that were compiled, and that a library or the cache had.
    bytes_written: the size of all new files in the cache.
    seconds: the time that it took.
    problem: why the cache does not have its program, or why the run for `sizes` failed; empty if nothing went wrong.
    """

    path: str
    compiled: bool
    kernels_compiled: int
    kernels_found: int
    bytes_written: int
    seconds: float
    problem: str = ""

    def as_json(self) -> dict[str, str | int | float | bool]:
        return asdict(self)


def warm(
    models: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    cache: str | os.PathLike[str] | None = None,
    target: str | None = None,
    threads: int | None = None,
    sizes: Mapping[str, int] | None = None,
    precision: Precision = EXACT,
    advance: Callable[[], None] = lambda: None,
) -> list[WarmedModel]:
    """Compiles models into the disk cache, so that the first session of each opens as later ones do; one result per model.

    models: files, and folders, whose files with the suffix .onnx are compiled, those in inner folders included.
    cache: the cache folder; by default that of sessions.  During the call it is the cache of the whole process.
    target: the class of the processors that will run the programs, as "x86-64-v3"; by default that of this one.
    threads, sizes: each model is run, with random inputs that have these lengths of dimension variables, on this number
        of threads, so that what is compiled for the branches, ranks and parameters of such runs is cached, too.
    precision: the precision of products, as for `Session`.
    advance: called after each model.
    Raises InputError for a path that does not exist, and for a run on another class of processors.
    """
    check_arguments(cache, target, threads, sizes, advance)
    paths = [*model_files(models)]
    if target and sizes is not None:
        raise InputError(
            "sizes must be omitted if target names a class, whose code is not run here", name="sizes"
        )
    require_choice("precision", precision, PRECISIONS)
    if not target:
        require_precision(precision)
    results = []
    with warming(None if cache is None else Path(cache), target or "") as folder:
        for path in paths:
            results.append(warm_model(path, folder, threads, sizes, precision))
            advance()
    return results


def check_arguments(cache: object, target: object, threads: object, sizes: object, advance: object) -> None:
    """Raises TypeError and InputError for wrong arguments of `warm`."""
    if cache is not None:
        require_path("cache", cache)
    if target is not None:
        require_text("target", target)
    require_integer("threads", threads, 1, MAX_THREADS, optional=True)
    if sizes is not None:
        require_mapping("sizes", sizes, str, (int, np.integer), "names to lengths")
    if not callable(advance):
        raise TypeError(f"advance must be a function; got {type_name(advance)}")


def model_files(models: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Iterator[Path]:
    """The given files, and the model files in the given folders, in order."""
    if isinstance(models, str | os.PathLike):
        models = [models]
    items_of("models", models, (str, os.PathLike), "paths")
    for source in models:
        require_path("models", source)
        path = Path(source)
        if path.is_dir():
            yield from sorted(file for file in path.rglob(f"*{MODEL_SUFFIX}") if file.is_file())
        elif path.exists():
            yield path
        else:
            raise InputError(f"models must be files or folders that exist; got {path}", name="models")


def warm_model(
    path: Path, cache: Path, threads: int | None, sizes: Mapping[str, int] | None, precision: Precision
) -> WarmedModel:
    """Caches what is compiled for one model.  cache: the cache folder."""
    before, compiled, hits = {*files_in(cache)}, PROGRESS.done, PROGRESS.hits
    start, is_new, problem = time.monotonic(), False, ""
    try:
        entry, is_new = cache_program(path, precision)
        if sizes is not None:
            problem = run_twice(path, threads, sizes, precision)
            share_specialized(entry)
    except (SardonyxError, OSError) as error:
        problem = str(error)
    new = {*files_in(cache)} - before
    return WarmedModel(
        path=str(path),
        compiled=is_new,
        kernels_compiled=PROGRESS.done - compiled,
        kernels_found=PROGRESS.hits - hits,
        bytes_written=sum(os.stat(name).st_size for name, *_ in new if os.path.exists(name)),
        seconds=time.monotonic() - start,
        problem=problem,
    )


def run_twice(path: Path, threads: int | None, sizes: Mapping[str, int], precision: Precision) -> str:
    """Runs a model with random inputs of these sizes; returns why that failed, or an empty text.

    The second run compiles a program for what the first one has shown.
    """
    session = Session(path, engine="native", threads=threads, precision=precision)
    try:
        feeds = complete_feeds(session.model, None, 0, sizes)
        for _ in range(2):
            session.run(feeds)
    except SardonyxError as error:
        return f"the run with random inputs failed: {error}"
    return ""


def files_in(folder: Path) -> Iterator[FileIdentity]:
    """The programs and kernels in a cache folder."""
    for path in (*folder.rglob("*.sdx"), *folder.rglob("*.o")):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue  # another process has replaced it
        yield str(path), status.st_ino, status.st_mtime_ns
