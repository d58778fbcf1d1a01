"""Sharing of programs by content: a program is found again while the constants that it borrows from its model are unchanged.

Apart from the registry, since cached programs run without what is imported here.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.program.executable import Executable
from sardonyx._src.compile.program.program import Program
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.walk import model_tensors
from sardonyx._src.runtime.declarations.inner_declarations import StaticDeclarations
from sardonyx._src.runtime.engine.shared_programs import SHARED_PROGRAMS, SharedProgram
from sardonyx._src.runtime.identity.content_hash import digest_tensors
from sardonyx._src.runtime.identity.model_stamps import ModelDigest, ModelStamp, ProgramKey


def borrowed_constants(program: Program) -> tuple[Array | Tensor, ...]:
    """The constants of a program that are still the model's own: of steps and of fallback ops."""
    contents = (buffer.content for buffer in program.constants)
    arrays = (content for content in contents if isinstance(content, np.ndarray))
    return *arrays, *model_tensors(program.model)


def find_shared_program(key: ProgramKey | None) -> SharedProgram | None:
    """The program that other engines share for a key, if its borrowed constants have not changed."""
    shared = None if key is None else SHARED_PROGRAMS.get(key)
    if shared is None or (shared.borrowed and digest_tensors(shared.borrowed) != shared.digest):
        return None
    return shared


def share_program(
    executable: Executable, declarations: StaticDeclarations, content: ModelStamp | ModelDigest | None
) -> SharedProgram:
    """An executable to share; its borrowed constants are compared later unless the content is the stamp of a file."""
    if not isinstance(content, ModelDigest):
        return SharedProgram(executable, declarations)
    borrowed = borrowed_constants(executable.program)
    return SharedProgram(executable, declarations, borrowed, digest_tensors(borrowed))
