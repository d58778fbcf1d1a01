"""When runs are verified: never, at the first run of each set of sizes, or always."""

from __future__ import annotations

from typing import Literal

Verify = Literal["off", "first", "every"]
VERIFICATIONS: tuple[Verify, ...] = ("off", "first", "every")
