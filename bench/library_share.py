"""Which share of the kernels of real models does a library of compiled kernels hold?

    python bench/library_share.py [--class x86-64-v3] [--out PAGE]

Models are compiled down to the keys of their kernels, which takes no LLVM, and the keys are looked up among those of a
library (`tools/kernel_library.py`).  Models of exporters (`bench/exported.py`) and of the zoo
(`clients/model_zoo/files.py`, which torch exports) are *held out*: nothing in the library was made from them.  A share
of kernels counts each kernel once for each model that has it; a share of models is the mean of the shares of each model.
*With interpreted ones* counts elementwise kernels that the library's interpreter computes; the last column counts the
models of which all kernels are of one kind or the other, so that their first result needs no LLVM.

The kinds of variants (`runtime/kernel_library/variants`) were chosen with the misses of the model zoo in sight,
and of a few early models of exporters.

Kernels that no library has are those whose keys hold an expression of one network, such as the epilogue of a product.
Size functions, which every program with symbolic sizes has, are interpreted, and are not counted.
"""

from __future__ import annotations

import argparse
import logging
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import sardonyx as sx
from exported import MODELS as EXPORTED
from latency import header, line
from measure import commit
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm.host_target import compiler_version
from sardonyx._src.compile.llvm.target_classes import CLASSES, target_of
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.errors import SardonyxError
from sardonyx._src.runtime.kernel_library.building import kernels_of
from sardonyx._src.runtime.kernel_library.variants import variant_models

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from replay_corpus import GROUPS, Corpus

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "generated" / "library_share.md"
ZOO = ROOT / "build" / "zoo"
HELD_OUT = ("exporters", "model zoo")
MISSED = 25  # rows of the table of kinds
Keys = frozenset[str]


def held_out_models() -> Iterator[tuple[str, str, Path]]:
    """Source, name and path of each model of which the library has no kernels by construction."""
    for path in sorted(EXPORTED.glob("*/*.onnx")):
        yield "exporters", path.stem, path
    for path in sorted(ZOO.glob("*/*.onnx")):
        yield "model zoo", f"{path.parent.name.rpartition('-')[0]}, {path.stem}", path


def model_keys(target: Target) -> tuple[dict[tuple[str, str], Keys], Keys]:
    """The keys of the kernels of each model, by its source and name, and those that can be interpreted.

    Models without kernels are left out.
    """
    corpus = Corpus(groups=("shared", "zoo"))
    models: list[tuple[str, str, Path | bytes]] = []
    for case in corpus.cases():
        source, _, name = case.name.partition("/")
        models.append((source, name, case.model))
    result: dict[tuple[str, str], Keys] = {}
    interpreted: set[str] = set()
    for source, name, model in (*models, *held_out_models()):
        try:
            kernels = compile_model(sx.load(model), target, tolerant=True).program.kernels
        except SardonyxError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        if kernels:
            result[source, name] = frozenset(kernel.key for kernel in kernels)
        interpreted |= {k.key for k in kernels if k.describe is not None and k.describe() is not None}
    return result, frozenset(interpreted)


def library_keys(target: Target) -> dict[str, Keys]:
    """The keys of the kernels of a library, by the group of models that they are of."""
    models = {"variants": (model for _, model in variant_models())}
    models |= {group: (sx.load(c.model) for c in Corpus(groups=[group]).cases()) for group in GROUPS}
    return {
        group: frozenset(kernel.key for kernel in kernels_of(members, target))
        for group, members in models.items()
    }


# --- shares ----------------------------------------------------------------------------------


def share_of_kernels(models: Iterable[Keys], library: Keys) -> float:
    counts = [(len(keys & library), len(keys)) for keys in models]
    return sum(held for held, _ in counts) / max(sum(known for _, known in counts), 1)


def share_of_models(models: Sequence[Keys], library: Keys) -> float:
    return sum(len(keys & library) / len(keys) for keys in models) / max(len(models), 1)


def kind_of(key: str) -> str:
    """The kind of a kernel: the beginning of its key, without numbers."""
    return re.sub(r"_?\d.*", "", re.split(r"[/: ]", key)[0])


def by_source(models: Mapping[tuple[str, str], Keys], library: Keys, interpreted: Keys) -> str:
    columns = ("models", "number", "kernels", "share of kernels", "share of models")
    rows = [header(*columns, "of kernels, with interpreted ones", "models without LLVM")]
    sources = dict.fromkeys(source for source, _ in models)
    groups = {source: [k for (s, _), k in models.items() if s == source] for source in sources}
    groups["held out"] = [keys for source in HELD_OUT for keys in groups.get(source, [])]
    groups["all"] = [*models.values()]
    for name, keys in groups.items():
        shares = (f"{f(keys, library):.1%}" for f in (share_of_kernels, share_of_models))
        every = library | interpreted
        whole = sum(kernels <= every for kernels in keys)
        row = (name, len(keys), sum(map(len, keys)), *shares, f"{share_of_kernels(keys, every):.1%}", whole)
        rows.append(line(*row))
    return "\n".join(rows)


def by_group(models: Mapping[tuple[str, str], Keys], groups: Mapping[str, Keys]) -> str:
    """What each group of the library adds for held-out models; at last, half of these themselves for the other half."""
    held_out = [keys for (source, _), keys in models.items() if source in HELD_OUT]
    rows = [header("library of", "kernels", "share of kernels, held out")]
    library: Keys = frozenset()
    for name, keys in groups.items():
        library |= keys
        rows.append(line(f"and {name}", len(library), f"{share_of_kernels(held_out, library):.1%}"))
    library = library.union(*held_out[::2])
    share = share_of_kernels(held_out[1::2], library)
    rows.append(line("and every other model held out, for the rest", len(library), f"{share:.1%}"))
    return "\n".join(rows)


def by_kind(models: Mapping[tuple[str, str], Keys], library: Keys, interpreted: Keys) -> str:
    known = Counter(kind_of(key) for keys in models.values() for key in keys)
    missed = Counter(kind_of(key) for keys in models.values() for key in keys - library)
    compiled = Counter(kind_of(key) for keys in models.values() for key in keys - library - interpreted)
    rows = [header("kind of kernel", "kernels", "not in the library", "nor interpreted")]
    rows += [line(kind, known[kind], count, compiled[kind]) for kind, count in missed.most_common(MISSED)]
    return "\n".join(rows)


def by_model(models: Mapping[tuple[str, str], Keys], library: Keys) -> str:
    rows = [header("model", "source", "kernels", "share")]
    rows += [
        line(name, source, len(keys), f"{len(keys & library) / len(keys):.0%}")
        for (source, name), keys in models.items()
    ]
    return "\n".join(rows)


def page(name: str) -> str:
    target_class = next(c for c in CLASSES if c.name == name)
    target = target_of(target_class, target_class.triple, compiler_version() or "", target_class.vendor)
    (models, interpreted), groups = model_keys(target), library_keys(target)
    library = frozenset[str]().union(*groups.values())
    parts = {
        f"Class {name}, commit {commit()}": by_source(models, library, interpreted),
        "By the models of the library": by_group(models, groups),
        "By kind of kernel": by_kind(models, library, interpreted),
        "By model": by_model(models, library),
    }
    sections = [f"## {title}\n\n{table}" for title, table in parts.items()]
    return "\n\n".join(["# Kernels in the library", (__doc__ or "").strip(), *sections]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--class", dest="name", default="x86-64-v4-zen4", help="of processors (%(default)s)")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page (%(default)s)")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    args.out.write_text(page(args.name))


if __name__ == "__main__":
    main()
