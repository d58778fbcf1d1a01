"""Runs compiled programs on a machine, and writes their outputs: `python run_cases.py FOLDER CLASS THREADS OUT`.

FOLDER has a file of feeds for each case, and the program of the case in the folder of the class.  A result is a case's
outputs by name and its number of fallback operations, or the text of an error.  Each program runs twice, since the second
run takes the fast path.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import sardonyx as sx


def run_case(program: Path, feeds: dict[str, object], threads: int) -> tuple[list[dict[str, object]], int]:
    """The outputs of two runs, and the number of nodes that kernels do not run."""
    session = sx.Session(program, engine="native", threads=threads)
    runs = [dict(session.run(feeds)) for _ in range(2)]
    return runs, session.stats.fallback_nodes


def main(folder: Path, name: str, threads: int, out: Path) -> None:
    results: dict[str, object] = {}
    for path in sorted(folder.glob("*.feeds")):
        program = folder / name / f"{path.stem}.sdx"
        if not program.exists():
            continue
        try:
            results[path.stem] = run_case(program, pickle.loads(path.read_bytes()), threads)
        except sx.SardonyxError as error:  # the test says which case has failed
            results[path.stem] = f"{type(error).__name__}: {error}"
    out.write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
