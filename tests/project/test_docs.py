"""The documents name files and folders that exist, and link to pages and headings that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import wrap_prose
from test_architecture import COMPILER_ORDER, ORDER

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src/sardonyx/_src"
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "generated" not in path.parts),
]
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./-]+\.(?:py|json|md|toml|lock)|[\w.-]+/(?:[\w.-]+/)*")
FOLDERS = [path for path in SRC.rglob("*") if path.is_dir() and path.name != "__pycache__"]
LINK = re.compile(r"\]\(([^)#\s]+)\)")
PLACEHOLDERS = (
    "<",
    "m.",
    "a.",
    "b.",
    "model.",
    "out.",
    "copy.",
    "older.",
    "typed.",
    "small.",
    "fixed.",
    "index.json",
    "config.json",
    "genai_config.json",
    "models/",
)


def named_files(document: Path) -> Iterator[str]:
    prose = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    for code in CODE.findall(prose):
        if FILE.fullmatch(code) and not code.startswith(PLACEHOLDERS):
            yield code


def exists(name: str, document: Path) -> bool:
    """Whether a path exists from the root, the page, the internal packages, or one of their folders."""
    return any((base / name).exists() for base in (ROOT, document.parent, SRC, *FOLDERS))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_named_files_exist(document: Path) -> None:
    assert [name for name in named_files(document) if not exists(name, document)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    links = [link for link in LINK.findall(document.read_text()) if "://" not in link]
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_rows_belong_to_tables_with_a_header(document: Path) -> None:
    blocks = re.findall(r"(?:^\|.*\n?)+", document.read_text(), flags=re.MULTILINE)
    assert [block[:80] for block in blocks if not re.match(r"\|.*\n\|(?:[ :]*-+[ :]*\|)+\n", block)] == []


def test_each_topic_has_one_ruling() -> None:
    topics = re.findall(r"^\| ([^|]+) \| ", (ROOT / "docs/rulings.md").read_text(), flags=re.MULTILINE)
    assert len(topics) > 100
    assert sorted(set(topics)) == sorted(topics)


def test_the_overview_states_the_order_of_packages() -> None:
    assert f"    {' '.join(ORDER)}\n" in (ROOT / "docs/architecture.md").read_text()


def test_the_compiler_page_states_the_order_of_folders() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| ", (ROOT / "docs/architecture/compiler.md").read_text(), flags=re.MULTILINE
    )
    assert rows == COMPILER_ORDER


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs/architecture").glob("*.md")), ids=lambda path: path.stem
)
def test_a_page_of_the_architecture_has_a_diagram_and_is_listed(page: Path) -> None:
    assert page.read_text().count("```mermaid\nflowchart ") == 1
    assert f"](architecture/{page.name})" in (ROOT / "docs/architecture.md").read_text()


PROSE = [path for path in DOCUMENTS if "docs" in path.relative_to(ROOT).parts or path.name == "README.md"]
MAX_WORDS, MAX_COLUMNS = 90, 100


@pytest.mark.parametrize("document", PROSE, ids=lambda path: str(path.relative_to(ROOT)))
def test_paragraphs_are_short_and_lines_fit_a_screen(document: Path) -> None:
    """Except for words that are longer than a line, such as the targets of links."""
    prose = [block for block in wrap_prose.blocks(document.read_text()) if block.prose]
    assert [block.lines[0] for block in prose if block.words > MAX_WORDS] == []
    lines = [line for block in prose for line in block.lines]
    assert [line for line in lines if len(line) > MAX_COLUMNS and " " in line.strip()] == [], (
        f"python tools/wrap_prose.py {document.relative_to(ROOT)} wraps them"
    )


def test_wrapping_changes_no_word_and_no_code() -> None:
    words = " ".join(["word"] * 30)
    page = f"# {words}\n\n{words}\n\n- {words} 1.\n- item\n\n```text\n{words}\n```\n\n| {words} |\n|---|\n"
    wrapped = wrap_prose.wrap_page(page)
    assert wrapped.split() == page.split()
    assert wrap_prose.wrap_page(wrapped) == wrapped
    assert f"# {words}\n" in wrapped
    assert f"```text\n{words}\n```\n\n| {words} |\n" in wrapped
    assert "\n- word " in wrapped
    assert "\n  word " in wrapped
    assert [line for line in wrapped.splitlines() if line[0:4] == "word" and len(line) > 100] == [words]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_generated_pages_that_are_named_exist(document: Path) -> None:
    pages = re.findall(r"docs/generated/[\w/.]+\w", document.read_text())
    assert [page for page in pages if not (ROOT / page).exists()] == []


def test_the_index_of_the_helpers_of_the_compilers_tests_lists_each() -> None:
    folder = ROOT / "tests/compile"
    helpers = {path.name for path in folder.glob("*.py") if not path.name.startswith("test_")}
    named = CODE.findall((folder / "README.md").read_text())
    assert sorted(name for name in named if name.endswith(".py")) == sorted(helpers)
