"""Hooks of mkdocs: pages of a folder as one entry of the navigation, and documents of the repository as pages."""

from pathlib import Path
from typing import Any

REPOSITORY = {"developer/design.md": "DESIGN.md", "developer/changes.md": "CHANGELOG.md"}
"""Pages whose text is a document at the root of the repository."""


def on_config(config: Any) -> Any:
    """An entry `folder/*` of the navigation stands for all pages of that folder, its index first."""
    config.nav = [_filled(entry, Path(config.docs_dir)) for entry in config.nav]
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put in the document of the repository, its links seen from the page."""
    document = REPOSITORY.get(page.file.src_uri)
    if document is None:
        return markdown
    text = (Path(config.docs_dir).parent / document).read_text(encoding="utf-8")
    return text.replace("](docs/", "](../")


def _filled(entry: Any, docs: Path) -> Any:
    if not isinstance(entry, dict):
        return entry
    ((title, pages),) = entry.items()
    if not isinstance(pages, str) or not pages.endswith("/*"):
        return entry
    found = sorted((docs / pages).parent.glob("*.md"), key=lambda path: (path.name != "index.md", path.name))
    return {title: [path.relative_to(docs).as_posix() for path in found]}
