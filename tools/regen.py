"""Regenerate every generated file of the project, or with `--check` list those that are out of date."""

from __future__ import annotations

import sys
from pathlib import Path

import builder_stubs
import command_line_page
import conversions_page
import gradients_page
import import_schemas
import import_vendor_schemas
import indexes
import make_records
import manual_page
import onnxruntime_page
import operators_page
import passes_page
import python_page
import rules_pages

ROOT = Path(__file__).resolve().parent.parent


def generated_files() -> dict[Path, str]:
    writers = (
        make_records,
        import_schemas,
        import_vendor_schemas,
        indexes,
        operators_page,
        conversions_page,
        gradients_page,
        onnxruntime_page,
        builder_stubs,
        rules_pages,
        passes_page,
        python_page,
        manual_page,
        command_line_page,
    )
    return {path: content for writer in writers for path, content in writer.files().items()}


def main(check: bool) -> int:
    stale = []
    for path, content in generated_files().items():
        target = ROOT / path
        if target.exists() and target.read_text() == content:
            continue
        stale.append(path)
        if not check:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
