"""The values of `Session(verify=...)`: no run is verified, the first run of each set of sizes, or every run."""

from __future__ import annotations

from typing import Literal

Verify = Literal["off", "first", "every"]
VERIFICATIONS: tuple[Verify, ...] = ("off", "first", "every")
