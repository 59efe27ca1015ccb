"""A report as Markdown and as an HTML page that stands on its own, written beside its figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trellex.files import atomic_writer
from trellex.report.blocks import FIGURES, Block, Heading, Picture
from trellex.report.result_set import ResultSet
from trellex.report.sections import sections

TITLE = "Results"
CSS = """\
:root { color-scheme: light dark; --text: #1c1e21; --back: #ffffff; --faint: #5c6370; --line: #d8dce2;
  --stripe: #f5f6f8; --link: #0060a8 }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e6ea; --back: #16181c; --faint: #a0a7b4; --line: #3a3f48; --stripe: #1f2228; --link: #6cb6f5 }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif }
a { color: var(--link) }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line) }
h3 { margin-top: 2.2rem }
p { max-width: 48rem }
.note { margin: .4rem 0; color: var(--faint); font-size: .85rem; overflow-wrap: anywhere }
.wide { overflow-x: auto; margin-top: 1.4rem }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem }
th, td { padding: .25rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line) }
thead th { white-space: normal; vertical-align: bottom; min-width: 4.2rem }
tbody th { font-weight: 400; white-space: normal; min-width: 8.5rem }
th:first-child { position: sticky; left: 0; text-align: left; background: var(--back) }
tbody tr:nth-child(even) > * { background: var(--stripe) }
figure { margin: 1.4rem 0 0 }
figure svg { display: block; min-width: 32rem; max-width: 100%; height: auto; background: #ffffff;
  border-radius: .4rem }
"""


def write_report(results: Path, folder: Path) -> list[Path]:
    """Write report.md, index.html and the figures; returns the paths of all files.

    The same results always give the same bytes. Nothing is written before all of it is made.

    Args:
        results: a folder of results of an experiment
        folder: made if it is not there
    """
    files = render(sections(ResultSet.load(results)))
    (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    for path, data in files.items():
        with atomic_writer(folder / path, "wb") as file:
            file.write(data)
    return [folder / path for path in files]


def render(blocks: Sequence[Block]) -> dict[str, bytes]:
    """The files of a report: their contents by path."""
    files = {"report.md": markdown(blocks).encode(), "index.html": html(blocks).encode()}
    for picture in (block for block in blocks if isinstance(block, Picture)):
        if not files.keys().isdisjoint(picture.files):
            raise ValueError(f"{picture.name}: two figures have this name; call one of the corpora otherwise")
        files |= picture.files
    return files


def markdown(blocks: Sequence[Block]) -> str:
    """GitHub's Markdown, figures linked."""
    return "\n\n".join([f"# {TITLE}", *(block.markdown() for block in blocks)]) + "\n"


def html(blocks: Sequence[Block]) -> str:
    """A page with style and figures inside."""
    links = [block for block in blocks if isinstance(block, Heading) and block.level == 2]
    contents = " · ".join(link.link() for link in links)
    body = "\n".join(block.html() for block in blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{TITLE}</title>\n'
        f"<style>\n{CSS}</style>\n</head>\n<body>\n<h1>{TITLE}</h1>\n<nav>{contents}</nav>\n{body}\n</body>\n</html>\n"
    )
