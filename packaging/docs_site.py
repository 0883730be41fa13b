"""A hook of MkDocs: pages of the site that stand outside of docs/, and links that lead out of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {
    "index.md": "README.md",
    "architecture.md": "ARCHITECTURE.md",
    "security.md": "SECURITY.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
"""Pages of the site by the files of the repository that they are."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)|(src|srcset)=\"([^\"]+)\"")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that stand outside."""
    from mkdocs.structure.files import File

    for page, file in OUTSIDE.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=inside(text, ROOT, Path(config.docs_dir))))
    return files


def on_page_markdown(markdown: str, page: object, config: MkDocsConfig, files: object) -> str:
    """A page of docs/ whose links to the rest of the repository lead to the site's page of it, or are names alone."""
    source = Path(config.docs_dir) / page.file.src_uri  # type: ignore[attr-defined]
    return inside(markdown, source.parent, Path(config.docs_dir)) if source.exists() else markdown


def inside(text: str, folder: Path, docs: Path) -> str:
    """The text with links as they are on the site, where it stands in `folder`."""
    pages = {(ROOT / file).resolve(): page for page, file in OUTSIDE.items()}
    base = folder if folder.is_relative_to(docs) else docs

    def moved(found: re.Match[str]) -> str:
        image, label, link, attribute, source = found.groups()
        target, mark, anchor = (link or source).partition("#")
        if not target or "://" in target:
            return found.group(0)
        path = (folder / target).resolve()
        if path.is_relative_to(docs.resolve()):
            place = path.relative_to(docs.resolve()).as_posix()
        elif path in pages:
            place = pages[path]
        else:
            return f"`{path.relative_to(ROOT).as_posix()}`"
        up = "../" * len(base.relative_to(docs).parts)
        return f'{attribute}="{up}{place}"' if attribute else f"{image}[{label}]({up}{place}{mark}{anchor})"

    return LINK.sub(moved, text)
