"""Exports every network once, for benchmarks of models rather than of their results.

    PYTHONPATH=clients .venv-zoo/bin/python -m model_zoo.files

Of the exporters and kinds of sizes, networks get one in turn.  Prints the path of each file, or why there is none.
"""

from __future__ import annotations

import zlib

from model_zoo.catalogue import NETWORKS
from model_zoo.exports import Export, NotExported, export
from model_zoo.registry import Network

EXPORTS = (Export("dynamo", 18), Export("script", 16), Export("dynamo", 24, 0), Export("script", 20, 0))


def choose_export(network: Network) -> Export:
    return EXPORTS[zlib.crc32(network.name.encode()) % len(EXPORTS)]


def main() -> None:
    for name in sorted(NETWORKS):
        network = NETWORKS[name]
        try:
            print(export(network, choose_export(network)), flush=True)
        except NotExported as reason:
            print(f"{name}: {reason}", flush=True)


if __name__ == "__main__":
    main()
