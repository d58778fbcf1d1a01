"""Fills the disk cache with the programs of model files, before a session needs them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.compile.llvm.cache import default_folder
from sardonyx._src.compile.llvm.host_target import compile_for_class, find_class, require_llvmlite
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.interp.runnable import require_runnable
from sardonyx._src.io.file_stamps import BytesStamp, FileStamp
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.loading.load import load
from sardonyx._src.io.loading.model_sources import DecoderEdit
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Model
from sardonyx._src.rewrite.decoder_edit import edit_decoder
from sardonyx._src.runtime.engine.engine import compile_releasing_weights
from sardonyx._src.runtime.identity.model_stamps import ModelStamp, ProgramKey, stamp_model, stamp_source
from sardonyx._src.runtime.identity.records import wait_for_records
from sardonyx._src.runtime.programs.async_compilation import async_compilation
from sardonyx._src.runtime.saved_programs.cache_entries import max_total_bytes, read_entry, trim_folder
from sardonyx._src.runtime.saved_programs.constant_files import ConstantFiles
from sardonyx._src.runtime.saved_programs.disk_cache import RACY, write_program_entry
from sardonyx._src.runtime.saved_programs.entry_aliases import files_of
from sardonyx._src.runtime.saved_programs.entry_names import alias_entry, entry_path, specialized_paths

LOGITS = "logits"  # the output of decoders
READ_BY_OTHERS = stat.S_IRGRP | stat.S_IROTH
FOLDER_MODE, ENTRY_MODE = 0o755, 0o600
ROOT = 0  # user id


@contextmanager
def warming(folder: Path | None, target: str) -> Iterator[Path]:
    """In this block, programs are compiled for a class of processors, and cached in a folder, which is the result.

    folder: None for the folder that sessions use.  target: a class, or "" for the one of this processor.
    At the end, waits until all that was cached is recorded; what root cached can be read by others.
    """
    before = os.environ.get("SARDONYX_CACHE")
    if folder is not None:
        os.environ["SARDONYX_CACHE"] = os.path.abspath(folder)
    try:
        cache = default_folder()
        if cache is None:
            raise InputError(
                "a cache folder must be given if SARDONYX_CACHE is empty; got none", name="cache"
            )
        require_class_of_this_machine(target)
        with compile_for_class(target):
            yield cache
        wait_for_records()
        if cache.is_dir():
            share_records(cache)
    finally:
        if folder is not None:
            restore_environment(before)


def require_class_of_this_machine(target: str) -> None:
    """Raises InputError for a class of another kind of machine, whose Python would not find the entries; "" is allowed."""
    if target and saved_program_machine() != (machine := find_class(target).machine):
        raise InputError(
            f"target must be a class of this kind of machine; got {target!r}, of {machine}; compile files for it "
            f"with `sardonyx compile --target {target}`",
            name="target",
        )


def restore_environment(cache: str | None) -> None:
    if cache is None:
        del os.environ["SARDONYX_CACHE"]
    else:
        os.environ["SARDONYX_CACHE"] = cache


def cache_program(source: Path, precision: Precision = EXACT) -> tuple[Path, bool]:
    """Compiles the program of a file into the cache unless it is there; returns its entry, and whether it was compiled.

    Of a decoder, the program of generators is compiled, too, which computes logits of the last position alone and has
    caches with room.
    """
    path, stamps, is_new = cache_variant(source, precision, None)
    image = read_entry(path, ConstantFiles(stamps))
    if image is not None and any(value.name == LOGITS for value in image.interface.graph.outputs):
        is_new |= cache_variant(source, precision, DecoderEdit(LOGITS))[2]
    return path, is_new


def cache_variant(
    source: Path, precision: Precision, edit: DecoderEdit | None
) -> tuple[Path, ModelStamp, bool]:
    """The entry of one program of a file, the stamps of its files, and whether it was compiled now.

    edit: of a generator, None for none; where it changes nothing of the model, nothing is compiled.
    Nothing of it is executed, so that it may be for processors of another class.
    Raises SardonyxError if the model cannot be compiled, or if its program cannot be cached.
    """
    stamp = stamp_source(source)
    path = None if stamp is None else entry_path(stamp, precision, edit)
    if stamp is None or path is None or not is_intact(path, ConstantFiles(stamp)):
        model, stamps = load_runnable(source, stamp)
        edited = edit_decoder(model, edit)
        path = entry_path(stamps, precision, edit)
        if path is not None and edit is not None and edited is model:
            return path, stamps, False
        is_new = path is None or not is_intact(path, ConstantFiles(stamps))
        if path is None or is_new:
            path = compile_entry(edited, ProgramKey(stamps, precision, edit=edit))
    else:
        stamps, is_new = stamp, False
    alias_entry(stamps, precision, path, edit, waits=True)
    share_entry(path, source, stamps)
    return path, stamps, is_new


def is_intact(path: Path, files: ConstantFiles) -> bool:
    """Whether there is an intact entry at a path; a damaged one is removed."""
    return path.exists() and read_entry(path, files) is not None


def load_runnable(source: Path, stamp: FileStamp | BytesStamp | None) -> tuple[Model, ModelStamp]:
    """The model of a file and the stamps of all its files; raises SardonyxError if its program cannot be cached."""
    model = load(source)
    if without_gradient_nodes(model) is not model:
        raise SardonyxError("it has Gradient nodes, whose gradients are computed at every start")
    stamps = None if stamp is None else stamp_model(stamp, model)
    if stamps is None or stamp != stamp_source(source):
        raise SardonyxError("its files cannot be read, or changed meanwhile")
    if stamps.is_racily_clean:
        raise SardonyxError(RACY)
    return model, stamps


def compile_entry(model: Model, key: ProgramKey) -> Path:
    """Compiles a model into an entry, and returns its path; raises SardonyxError where that is not possible."""
    require_llvmlite()
    with typed_defects("compile", OSError, ImportError), async_compilation():
        require_runnable(model)
        with limit_nesting(), pause_gc():
            executable = compile_releasing_weights(model, precision=key.precision)
        path, reason = write_program_entry(key, model, executable)
    if path is None:
        raise SardonyxError(reason)
    trim_folder(path.parent)
    if not path.exists():
        raise SardonyxError(
            f"the cache has room for {max_total_bytes(path.parent)} bytes (SARDONYX_CACHE_BYTES)"
        )
    return path


# --- other users -------------------------------------------------------------------------------


def share_entry(path: Path, source: Path, stamp: ModelStamp) -> None:
    """Lets others read the entry of a model that root has cached, if they can read all files of the model.

    Only what root owns is of use to other users (`io.private_files`).
    """
    if is_root():
        bits = os.stat(source).st_mode & READ_BY_OTHERS
        for file in files_of(stamp)[1:]:  # of external data; short files are known by their bytes only
            bits &= os.stat(file.path).st_mode if isinstance(file, FileStamp) else 0
        path.chmod(ENTRY_MODE | bits)


def share_specialized(path: Path) -> None:
    """Lets those read the entries of specialized programs who may read that of the general one, at a path."""
    for entry in specialized_paths(path):
        entry.chmod(path.stat().st_mode)


def share_records(cache: Path) -> None:
    """Lets others enter the folders of a cache, and read the kernels and records in them, which have nothing of weights."""
    if not is_root():
        return
    for folder in (cache, *(cache / name for name in os.listdir(cache) if (cache / name).is_dir())):
        folder.chmod(FOLDER_MODE)
        for path in folder.iterdir():
            if path.is_file() and path.suffix != ".sdx":
                path.chmod(ENTRY_MODE | READ_BY_OTHERS)


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == ROOT
