"""The engine of a closed session: its statistics remain, and runs raise an error."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.ops.run_values import RuntimeValue
from sardonyx._src.runtime.programs.stats import SessionStats


class ClosedSession:
    """The engine of a closed session.  stats: the statistics of the session when it was closed."""

    def __init__(self, stats: SessionStats) -> None:
        self.stats = stats

    @property
    def random_source(self) -> RandomSource:
        raise SardonyxError("the session was closed; open a new one to run the model")

    def run(self, feeds: Mapping[str, RuntimeValue]) -> dict[str, RuntimeValue]:
        raise SardonyxError("the session was closed; open a new one to run the model")
