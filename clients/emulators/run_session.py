"""Opens a model on a machine twice, and prints what its sessions compiled: `python run_session.py MODEL FEEDS OUT`.

The first session takes the kernels of a library, and must not load LLVM; the second compiles all kernels itself.
"""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import sardonyx as sx


def main(model: Path, feeds: Path, out: Path) -> None:
    values = pickle.loads(feeds.read_bytes())
    results, counts = [], []
    for start in ("library", "compiled"):
        session = sx.Session(model.read_bytes(), engine="native", start=start, threads=2)
        results.append(dict(session.run(values)))
        stats = session.stats
        counts.append([stats.library_kernels, stats.compiled_kernels, "llvmlite.binding" in sys.modules])
    out.write_bytes(pickle.dumps(results))
    print(json.dumps(counts))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
