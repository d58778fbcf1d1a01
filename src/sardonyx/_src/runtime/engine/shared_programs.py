"""Registry of compiled programs that sessions share, so that weights are packed once per process.

The key is the stamp of a file that has not changed, or of bytes, or the digest of a model's content, and the precision of
products (`identity/model_stamps.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from sardonyx._src.compile.program.executable import Executable
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.runtime.declarations.inner_declarations import StaticDeclarations
from sardonyx._src.runtime.identity.model_stamps import ProgramKey
from sardonyx._src.runtime.specialization.shared import Specializations


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class SharedProgram:
    """An executable that engines hold.

    declarations: what is known of the sizes that the model declares of inner values.  borrowed: its constants that are still the model's own, which callers may write to.  digest: of their elements when
    the program was compiled.  specializations: the specialised programs of the model.
    """

    executable: Executable
    declarations: StaticDeclarations
    borrowed: tuple[Array | Tensor, ...] = ()
    digest: str = ""
    specializations: Specializations = field(default_factory=Specializations)


SHARED_PROGRAMS: WeakValueDictionary[ProgramKey, SharedProgram] = WeakValueDictionary()
