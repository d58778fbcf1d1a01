"""Registry of compiled programs that sessions share, so that weights are packed once per process.

The key consists of the precision of products and the identity of the model: the stamp of an unchanged file or of bytes, or
the digest of the model's content (`identity/model_stamps.py`).
"""

from __future__ import annotations

from dataclasses import field
from weakref import WeakValueDictionary

from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Tensor
from sardonyx._src.runtime.declarations.inner_declarations import StaticDeclarations
from sardonyx._src.runtime.identity.model_stamps import ProgramKey
from sardonyx._src.runtime.specialization.shared import Specializations


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class SharedProgram:
    """An executable that several engines use.

    declarations: the declared sizes of inner values, as far as inference decides them.
    borrowed: the constants that are still arrays of the model, to which callers may write.
    digest: the digest of the borrowed constants when the program was compiled.
    specializations: the specialized programs of the model.
    """

    executable: Executable
    declarations: StaticDeclarations
    borrowed: tuple[Array | Tensor, ...] = ()
    digest: str = ""
    specializations: Specializations = field(default_factory=Specializations)


SHARED_PROGRAMS: WeakValueDictionary[ProgramKey, SharedProgram] = WeakValueDictionary()
