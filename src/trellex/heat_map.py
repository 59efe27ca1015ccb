"""Heat maps: how much each source word counted for each word of a translation, as pictures."""

from __future__ import annotations

import html
import io
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from trellex.files import atomic_writer, check_new_file, check_writable

CELL, FONT, GAP = 28, 14, 8  # pixels
DARKEST = (8, 48, 107)  # the colour of a share of 1; that of 0 is white
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
FORMATS = (".svg", ".png")
MAX_PICTURES, MAX_WORDS = 100, 200  # in a folder; on a side of a picture


class HeatMaps:
    """Pictures of lines: of the first one in a file, or of the first ones in a folder.

    Args:
        path: ends in .svg or .png; or a folder, which is made

    Attributes:
        left_out: lines that have no picture because there are enough, or because they are too long
    """

    def __init__(self, path: Path) -> None:
        self.path, self.left_out, self._is_folder = path, 0, path.suffix not in FORMATS
        self._room = MAX_PICTURES if self._is_folder else 1
        check_format(path)
        if self._is_folder and path.exists() and not path.is_dir():
            raise NotADirectoryError(f"{path}: is a file; name a folder, or a picture that ends in .svg or .png")
        if self._is_folder and path.suffix and not path.exists():
            raise ValueError(f"{path}: pictures end in .svg or .png; a new folder has no ending")
        if self._is_folder:
            check_writable(path)
        else:
            check_new_file(path)

    def add(self, number: int, source: Sequence[str], target: Sequence[str], shares: NDArray[Any]) -> None:
        """Draw a line, if there is room for it and its translation has words. shares [T, S]"""
        if len(target) == 0:
            return
        if self._room == 0 or max(shares.shape) > MAX_WORDS:
            self.left_out += 1
            return
        self._room -= 1
        if self._is_folder:
            self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / f"line-{number:04}.svg" if self._is_folder else self.path
        save_heat_map(path, source, target, shares)


def check_format(path: Path) -> None:
    """Raises ImportError if a picture of that name needs a package that is missing."""
    if path.suffix == ".png":
        try:
            import matplotlib  # noqa: F401
        except ModuleNotFoundError as error:
            raise ImportError(
                f"{path}: PNG is drawn by matplotlib, which is missing: pip install 'trellex[report]', or save .svg"
            ) from error


def save_heat_map(path: Path, source: Sequence[str], target: Sequence[str], shares: NDArray[Any]) -> None:
    """Draw source words from left to right and target words from top to bottom. shares [T, S]

    path: ends in .svg or .png
    """
    check_format(path)
    is_svg = path.suffix == ".svg"
    content = as_svg(source, target, shares).encode() if is_svg else as_png(source, target, shares)
    with atomic_writer(path, "wb") as file:
        file.write(content)


def as_svg(source: Sequence[str], target: Sequence[str], shares: NDArray[Any]) -> str:
    """Words are text, for which whoever shows the picture has a font. A pointer over a cell is told its share."""
    left, top = (max(map(_width, words), default=0) + 2 * GAP for words in (target, source))
    width, height = left + CELL * len(source) + GAP, top + CELL * len(target) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="{FONT}" fill="#222">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for column, word in enumerate(source):
        x = left + CELL * column + CELL // 2
        parts.append(f'<text transform="translate({x + FONT // 3} {top - GAP}) rotate(-90)">{_escaped(word)}</text>')
    for row, word in enumerate(target):
        y = top + CELL * row + CELL // 2 + FONT // 3
        parts.append(f'<text x="{left - GAP}" y="{y}" text-anchor="end">{_escaped(word)}</text>')
        for column, share in enumerate(shares[row]):
            told = f"{_escaped(source[column])} → {_escaped(word)}: {share:.1%}"
            parts.append(
                f'<rect x="{left + CELL * column}" y="{top + CELL * row}" width="{CELL}" height="{CELL}" '
                f'fill="{_colour(share)}" stroke="#ddd"><title>{told}</title></rect>'
            )
    return "\n".join([*parts, "</svg>\n"])


def as_png(source: Sequence[str], target: Sequence[str], shares: NDArray[Any]) -> bytes:
    """The same in pixels, with fonts that have all of its characters. Raises ValueError if none is installed."""
    import matplotlib.style
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    families = _fonts_for({character for word in (*source, *target) for character in word})
    settings: dict[str, Any] = {"font.family": families, "font.size": 10, "text.parse_math": False}
    with matplotlib.style.context(["default", settings]):
        figure = Figure(figsize=(CELL * len(source) / 72, CELL * len(target) / 72), dpi=144)
        axes = figure.add_axes((0, 0, 1, 1))
        colours = LinearSegmentedColormap.from_list("shares", [_colour(0), _colour(1)])
        axes.pcolormesh(shares, cmap=colours, vmin=0, vmax=1, edgecolors="#dddddd", linewidth=0.7)
        axes.set_xticks([column + 0.5 for column in range(len(source))], source, rotation=90)
        axes.set_yticks([row + 0.5 for row in range(len(target))], target)
        axes.tick_params(length=0, top=True, bottom=False, labeltop=True, labelbottom=False)
        axes.invert_yaxis()
        axes.set_frame_on(False)
        file = io.BytesIO()
        figure.savefig(file, format="png", bbox_inches="tight", metadata={"Software": None})
    return file.getvalue()


def _fonts_for(characters: set[str]) -> list[str]:
    """The default font and, for what it lacks, an installed one."""
    from matplotlib import font_manager, ft2font

    def lacking(path: str) -> set[str]:
        known = ft2font.FT2Font(path).get_charmap()
        return {character for character in characters if ord(character) not in known and not character.isspace()}

    default = font_manager.FontProperties(family="DejaVu Sans")
    missing = lacking(font_manager.findfont(default))
    if not missing:
        return ["DejaVu Sans"]
    upright = (font for font in font_manager.fontManager.ttflist if font.style == "normal" and font.weight == 400)
    for font in sorted(upright, key=lambda font: ("Sans" not in font.name, font.name)):
        if not font.name.startswith("Last Resort") and not missing & lacking(font.fname):  # that has a box for each
            return ["DejaVu Sans", font.name]
    raise ValueError(
        f"no installed font has all of {''.join(sorted(missing)[:20])}; save .svg, whose words any browser shows, "
        "or install a font, such as Noto Sans CJK"
    )


def _colour(share: float) -> str:
    return "#" + "".join(f"{round(255 - share * (255 - value)):02x}" for value in DARKEST)


def _width(word: str) -> int:
    """About how wide a word is, in pixels."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in word)
    return round(FONT * (wide + 0.6 * (len(word) - wide)))


def _escaped(word: str) -> str:
    return html.escape(_NOT_XML.sub("\ufffd", word))
