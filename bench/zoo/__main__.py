"""Build all networks: `python -m zoo`, or some of them: `python -m zoo resnet50 unet`."""

from __future__ import annotations

import sys

from zoo.catalogue import ENTRIES

for name in sys.argv[1:] or ENTRIES:
    path = ENTRIES[name].path()
    print(f"{name}: {path}, {path.stat().st_size / 1e6:.1f} MB")
