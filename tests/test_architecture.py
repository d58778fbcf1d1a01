"""The layering law: a package imports only from packages to its left, imports inside functions included."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from pathlib import Path

import pytest

import sardonyx._src
from sardonyx._src import schema
from source_facts import facts_of

ORDER = (
    "bytecode_finder method_templates dataclass logs errors threads phases arguments suggestions docpages formatters dtypes ir schema proto io ops infer interp convert build grad check rewrite tools "
    "compile runtime export tables train compat measure quantize view score generate serve cli"
).split()  # docs/architecture.md lists them so
COMPILER_ORDER = (
    "codegen linker executor program llvm kernels prepare partition layouts lower printing".split()
)  # docs/architecture/compiler.md lists them so
GEMM_ORDER = "tile packing floats integer bf16 unpacked".split()  # docs/architecture/kernels.md lists them so
PROGRAM_ORDER = "operands steps memory encoding verification".split()
PARTITION_ORDER = "regions operands fusion quantized patterns partitioner".split()
SERVICE_ORDER = (
    "protocol batching models settings rest openai operation grpc service".split()
)  # docs/architecture/serving.md lists them so
INDEPENDENT = {"ir", "schema", "proto"}  # do not import one another
# Modules that need each other's types, as parts of one recursive definition: no order of them says more than any other.
CIRCLES_OF_TYPES = {
    "ir.dims": "an expression consists of terms, whose calls have expressions as arguments",
    "ir": "a model consists of graphs of nodes, and each of them says what owns it",
}
IMPORTS_BY_NAME = {
    "formatters.py": "classes ask for their formatters, which the package of views registers",
}
SRC = Path(sardonyx._src.__path__[0])
NOT_AT_RUN_TIME = {"onnx", "google", "torch", "onnxruntime"}
# Where operators have names: their own files, and modules that are each about a pattern, a lowering, a rule or a verb.
NAMED_OPERATORS = (
    "ops/",
    "rewrite/passes/",
    "compile/partition/patterns/",
    "compile/lower/operators/",
    "compile/prepare/decompositions/",
    "grad/operators/",
    "check/rules/",
    "runtime/kernel_library/variants/",
    "train/losses/",
    "train/optimizers/",
    "cli/",
    "build/",
    "serve/batching/row_rules/",
)
IR_OPERATORS = {"Constant", "Identity"}  # a literal and a copy: part of the graph representation
FILES_THAT_NAME_OPERATORS = {
    "compile/kernels/elementwise/operators.py": "the table of native elementwise operators, one line each",
    "compile/layouts/dim_signatures.py": "states the dims of each operator a second time, so that inference can be verified",
    "compile/partition/operands/attention_operands.py": "writes what a Transpose reads as it is read",
    "compile/partition/fusion/batch_norm.py": "folds one operator, BatchNormalization",
    "compile/partition/quantized/block_quantized_operand.py": "recognizes one pattern, dequantized operands",
    "compile/partition/quantized/dequantized_operands.py": "recognizes one pattern, dequantized operands",
    "compile/partition/fusion/elementwise_operands.py": "operands per channel or axis of BatchNormalization and quantization",
    "compile/partition/operands/recurrent_layer.py": "the cells of three operators, LSTM, GRU and RNN",
    "compile/partition/fusion/rounding.py": "recognizes one pattern, Casts to half precision and back",
    "compile/partition/fusion/row_programs.py": "sums of rows are one operator, ReduceSum",
    "compile/partition/regions/registry.py": "the table of operators that patterns need beside their first, one line each",
    "compile/prepare/decompose.py": "the table of decompositions, one line each",
    "compile/prepare/fed_counts.py": "follows one number through operators that only change its type or shape",
    "compile/prepare/class_numbers.py": "rewrites one pattern, classifiers whose labels are strings",
    "compile/prepare/execution_order.py": "recognizes one pattern, products of scales",
    "compile/prepare/dequantized_constants.py": "recognizes one pattern, dequantized weights",
    "compile/prepare/unsigned_activations.py": "rewrites one pattern, activations in int8",
    "compile/prepare/merge_convolutions.py": "rewrites one pattern, narrow convolutions of one image",
    "compile/prepare/promote_half.py": "inserts Casts, and gives bounds to Clip",
    "grad/detection.py": "finds one operator, Gradient",
    "rewrite/cache_room.py": "rewrites one pattern, a cache that a Concat continues",
    "rewrite/last_position.py": "the table of operators that keep rows apart, one line each",
    "rewrite/support/attention.py": "the texts of one pattern, attention",
    "rewrite/support/sequences.py": "follows the nodes that put a sequence together, each with its own meaning",
    "rewrite/support/splits.py": "emits Splits",
    "score/model/zip_maps.py": "removes one operator, ZipMap",
    "quantize/report/switches.py": "writes one pattern, the choice between two forms of a result",
    "quantize/training/fake_quantization.py": "writes one pattern, pairs around weights",
    "quantize/training/folding.py": "recognizes one pattern, pairs of constants",
    "quantize/precision/subgraph_groups.py": "the links of four operators with their subgraphs",
    "quantize/schemes/float8.py": "writes one pattern, pairs of quantization",
    "measure/products.py": "the table of the multiply-adds of products, one line each",
    "quantize/activations/placement.py": "the tables of operators that select elements, and that clip as integers do",
    "quantize/activations/qoperator.py": "recognizes one pattern, layers between DequantizeLinear and QuantizeLinear",
    "quantize/equalization/cross_layer.py": "the table of operators that scale with their operand",
    "quantize/equalization/scaling.py": "the table of operators that scale with their operands",
    "quantize/weights/layers.py": "the table of inputs that are weights, one line each",
    "quantize/weights/microsoft.py": "writes two operators, MatMulNBits and GatherBlockQuantized",
    "quantize/weights/outliers.py": "writes one pattern, a product of few terms",
    "runtime/fallbacks/native_subgraphs.py": "runs the bodies of one operator, Loop",
    "train/adapters.py": "adapts two operators, MatMul and Gemm",
    "grad/active.py": "gradients of quantized integers flow between two operators alone",
    "train/prepare/gradients.py": "adds one operator, Gradient",
    "train/prepare/training_mode.py": "sets the mode of two operators, Dropout and BatchNormalization",
    "train/prepare/weight_positions.py": "the table of inputs that are weights, one line each",
    "view/scopes/parts.py": "names parts by their operators, apart from those that only prepare sizes",
    "tools/set_dims/reshape_rule.py": "looks for the constant parts of a shape in a Concat",
}


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def sources() -> list[Path]:
    return [p for p in sorted(SRC.rglob("*.py")) if p.parent != SRC or p.name != "__init__.py"]


def test_every_folder_is_a_room_of_the_order() -> None:
    assert {room_of(p) for p in sources()} <= set(ORDER)


def test_the_page_of_rooms_lists_them_in_their_order() -> None:
    rows = [line for line in (SRC / "README.md").read_text().splitlines() if line.startswith("| `")]
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])] == ORDER


def test_rooms_import_only_leftwards() -> None:
    for path in sources():
        room = room_of(path)
        for name in (*facts_of(path).imports, *facts_of(path).named_modules):
            parts = name.split(".")
            assert parts[0], f"{path}: relative import of {name}"
            if parts[0] != "sardonyx":
                continue
            assert parts[1] == "_src", (
                f"{path} imports {name}: internal modules never import the public package"
            )
            other = parts[2]
            if name in facts_of(path).named_modules and path.relative_to(SRC).as_posix() in IMPORTS_BY_NAME:
                continue
            assert other in ORDER, f"{path} imports {name}, which is not in ORDER"
            assert ORDER.index(other) <= ORDER.index(room), (
                f"{path} must import only packages to its left; got {name}"
            )
            assert other == room or not {room, other} <= INDEPENDENT, (
                f"{path}: {room} and {other} must not import one another"
            )


@pytest.mark.parametrize(
    ("room", "order"),
    [
        ("compile", COMPILER_ORDER),
        ("compile/kernels/gemm", GEMM_ORDER),
        ("compile/program", PROGRAM_ORDER),
        ("compile/partition", PARTITION_ORDER),
        ("serve", SERVICE_ORDER),
    ],
)
def test_folders_of_a_room_import_only_leftwards(room: str, order: list[str]) -> None:
    folders = [path for path in (SRC / room).iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert {folder.name for folder in folders} == set(order)
    prefix = f"sardonyx._src.{room.replace('/', '.')}."
    modules = {
        *order,
        *(path.stem for path in (SRC / room).glob("*.py")),
    }  # other names are those of the room's face
    for folder in folders:
        later_modules = modules - {*order[: order.index(folder.name) + 1]}
        for path in folder.rglob("*.py"):
            names = [name for name in facts_of(path).imports if name.startswith(prefix)]
            later = [name for name in names if name.removeprefix(prefix).split(".")[0] in later_modules]
            assert later == [], f"{path} must import only folders before {folder.name}; got {later}"


def test_no_other_implementation_is_imported() -> None:
    for path in sources():
        for name in facts_of(path).imports:
            assert name.split(".")[0] not in NOT_AT_RUN_TIME, f"{path} imports {name}"


def test_only_one_file_knows_llvmlite() -> None:
    users = {
        path.relative_to(SRC).as_posix()
        for path in sources()
        if any(name.startswith("llvmlite") for name in facts_of(path).imports)
    }
    assert users <= {"compile/llvm/compiler.py"}


def test_no_import_cycle_inside_a_package() -> None:
    """Modules of a cycle cannot be read, tested or imported one by one."""
    cycles = [sorted(cycle) for cycle in import_cycles(module_graph(types=False))]
    assert cycles == [], f"modules import each other: {cycles}"


def test_circles_of_types_have_reasons() -> None:
    """What only type checkers import ties modules together as well: who reads one of a circle reads them all."""
    circles = [sorted(circle) for circle in import_cycles(module_graph(types=True))]
    listed = {name: [m for m in circles if is_listed(m, name)] for name in CIRCLES_OF_TYPES}
    others = [circle for circle in circles if not any(is_listed(circle, name) for name in listed)]
    assert others == [], f"modules import each other for their types: {others}"
    assert [name for name, matching in listed.items() if not matching] == [], "remove the exception"


def is_listed(circle: list[str], name: str) -> bool:
    """Whether a circle consists of the modules that a text lists, or of modules of the package that it names."""
    return circle == name.split() or all(module.rpartition(".")[0] == name for module in circle)


def module_graph(*, types: bool) -> dict[str, set[str]]:
    """The modules that each module imports, by dotted names below the internal package.

    types: whether what only type checkers import, and what is imported by its name, count as well.
    """
    files = {".".join(p.relative_to(SRC).with_suffix("").parts): p for p in SRC.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): p for name, p in files.items() if name != "__init__"}
    return {
        name: {resolve_module(n, modules) for n in imports_of(p, types=types)} - {name, ""}
        for name, p in modules.items()
    }


def imports_of(path: Path, *, types: bool) -> list[str]:
    facts = facts_of(path)
    if not types:
        return facts.run_time_imports
    is_excepted = path.relative_to(SRC).as_posix() in IMPORTS_BY_NAME
    return facts.imports if is_excepted else [*facts.imports, *facts.named_modules]


def resolve_module(name: str, modules: Container[str]) -> str:
    """The module that an imported name is, or is defined in; "" for one of another package."""
    inner = name.removeprefix("sardonyx._src.")
    if inner == name:
        return ""
    return inner if inner in modules else inner.rpartition(".")[0]


def import_cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one module (Tarjan's algorithm)."""
    indices: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    cycles: list[list[str]] = []

    def visit(module: str) -> None:
        indices[module] = low[module] = len(indices)
        stack.append(module)
        for other in graph.get(module, ()):
            if other not in indices:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], indices[other])
        if low[module] == indices[module]:
            start = stack.index(module)
            component = stack[start:]
            del stack[start:]
            if len(component) > 1:
                cycles.append(component)

    for module in graph:
        if module not in indices:
            visit(module)
    return cycles


def test_operator_names_stay_in_ops() -> None:
    """Whatever holds for several operators is a trait (`sardonyx._src.ops.traits`), which each declares in its file."""
    names = {name for domain in schema.domains() for name in schema.operators(domain)} - IR_OPERATORS
    files = {path.relative_to(SRC).as_posix(): path for path in sources()}
    naming = {
        name
        for name, path in files.items()
        if not name.startswith(NAMED_OPERATORS)
        and any(set(text.split()) <= names for text in facts_of(path).literals if text.strip())
    }
    assert naming - FILES_THAT_NAME_OPERATORS.keys() == set(), "declare a trait of the operators instead"
    assert FILES_THAT_NAME_OPERATORS.keys() - naming == set(), "remove the exception"
