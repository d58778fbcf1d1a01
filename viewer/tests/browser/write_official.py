"""Writes the pages' data of the official models, each `--every`-th from number `--start`, as lines of JSON with name and page, to standard output."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from proto.official_models import node_models, stored_models  # noqa: E402
from sardonyx._src.view.documents import open_document, page_of  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    arguments = parser.parse_args()
    models = [*node_models().items(), *stored_models().items()]
    for name, data in models[arguments.start :: arguments.every]:
        page = page_of([open_document(data).data], name)
        sys.stdout.write(json.dumps({"name": name, "page": page}, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
