"""Hooks of the documentation site: the pages at the root of the repository, links to them and to its files, and diagrams."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).resolve().parent.parent
ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "DEVELOPMENT.md", "SECURITY.md")
MERMAID = "assets/mermaid.min.js"  # the theme would load it from a content network
LINK = re.compile(r"\]\(((?:\.\./)*)([^):#]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages at the root of the repository, and the script that draws diagrams, which `make docs` provides."""
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text()))
    files.append(File.generated(config, MERMAID, abs_src_path=os.environ["MERMAID_SCRIPT"]))
    return files


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Load the script on pages with diagrams only: it has megabytes."""
    if 'class="mermaid"' not in html:
        return html
    return f'{html}\n<script src="{get_relative_url(MERMAID, page.url)}"></script>'


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links at pages of the site; a link to another file of the repository becomes its name."""
    folder = ROOT if page.file.src_uri in ROOT_PAGES else Path(config.docs_dir, page.file.src_uri).parent

    def link(match: re.Match[str]) -> str:
        target = Path(folder, match[1] + match[2]).resolve()
        if not target.is_relative_to(ROOT) or not target.exists():
            return match[0]
        name = site_name(target)
        depth = page.file.src_uri.count("/")
        return "]" if name is None else f"]({'../' * depth}{name}{match[3] or ''})"

    text = LINK.sub(link, markdown)
    return re.sub(
        r"\[([^\[\]]+)\](?![(\[:])", lambda match: match[1] if is_file(match[1]) else match[0], text
    )


def site_name(target: Path) -> str | None:
    """The page's name on the site; None for what is not on it."""
    if target.is_relative_to(ROOT / "docs"):
        return target.relative_to(ROOT / "docs").as_posix()
    return target.name if target.parent == ROOT and target.name in ROOT_PAGES else None


def is_file(text: str) -> bool:
    return bool(re.fullmatch(r"[\w./-]+", text)) and (ROOT / text).exists()


def on_post_build(config: MkDocsConfig) -> None:
    """Reject pages that would load anything from another host: the site works without a network."""
    loads = re.compile(
        r'<(?:script|img|iframe)[^>]* src="?https?:[^>]*>|<link[^>]* rel="?(?:stylesheet|preconnect)[^>]*href="?https?:[^>]*>'
    )
    for path in Path(config.site_dir).rglob("*.html"):
        match = loads.search(path.read_text())
        assert match is None, f"{path} must load nothing from another host; got {match and match[0]}"
