"""Sharing of programs between sessions of models with equal content.

Some constants of a program are *borrowed*: they are arrays of the model, to which a caller may write.  A program is shared
only as long as its borrowed constants have not changed.

The registry is a module of its own (`shared_programs.py`), because cached programs run without the imports of this one.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.ir import Array, Tensor
from sardonyx._src.ir.walk import model_tensors
from sardonyx._src.runtime.declarations.inner_declarations import StaticDeclarations
from sardonyx._src.runtime.engine.shared_programs import SHARED_PROGRAMS, SharedProgram
from sardonyx._src.runtime.identity.content_hash import digest_tensors
from sardonyx._src.runtime.identity.model_stamps import ModelDigest, ModelStamp, ProgramKey


def borrowed_constants(program: Program) -> tuple[Array | Tensor, ...]:
    """The constants of steps and of fallback ops that are still arrays of the model."""
    contents = (buffer.content for buffer in program.constants)
    arrays = (content for content in contents if isinstance(content, np.ndarray))
    return *arrays, *model_tensors(program.model)


def find_shared_program(key: ProgramKey | None) -> SharedProgram | None:
    """The program that other engines share under this key, if its borrowed constants have not changed."""
    shared = None if key is None else SHARED_PROGRAMS.get(key)
    if shared is None or (shared.borrowed and digest_tensors(shared.borrowed) != shared.digest):
        return None
    return shared


def share_program(
    executable: Executable, declarations: StaticDeclarations, content: ModelStamp | ModelDigest | None
) -> SharedProgram:
    """An executable to share.  content: a digest of the model, or the stamp of a file, whose weights no caller can change."""
    if not isinstance(content, ModelDigest):
        return SharedProgram(executable, declarations)
    borrowed = borrowed_constants(executable.program)
    return SharedProgram(executable, declarations, borrowed, digest_tensors(borrowed))
