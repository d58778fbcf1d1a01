"""The folders of the project that the generators import from; importing this module makes them importable."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tools", "tests") if str(ROOT / folder) not in sys.path]
