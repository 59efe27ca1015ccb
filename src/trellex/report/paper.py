"""The paper's table of results, as printed there."""

from __future__ import annotations

from typing import NamedTuple

TIMED_DIRECTION = "en-ja"


class Row(NamedTuple):
    """A method on one corpus of the paper. Times are in milliseconds."""

    bleu: dict[str, float]  # by direction
    output_ratio: float  # a softmax's output parameters to these
    all_ratio: float  # all parameters to those of the model with a softmax
    train_batch: float
    gpu_sentence: float
    cpu_sentence: float


def _row(en_ja: float, ja_en: float, *figures: float) -> Row:
    return Row({"en-ja": en_ja, "ja-en": ja_en}, *figures)


PAPER = {
    "ASPEC": {
        "softmax": _row(31.13, 21.14, 1, 1, 1026, 121.6, 2539),
        "binary": _row(13.78, 6.953, 4100, 0.698, 711.2, 73.08, 122.3),
        "hybrid-512": _row(22.81, 13.95, 124, 0.700, 843.6, 81.28, 127.5),
        "hybrid-2048": _row(27.73, 16.92, 31.8, 0.707, 837.1, 82.28, 159.3),
        "binary-ec": _row(25.95, 18.02, 1490, 0.698, 712.0, 78.75, 164.0),
        "hybrid-512-ec": _row(29.07, 18.66, 118, 0.700, 850.3, 80.30, 180.2),
        "hybrid-2048-ec": _row(30.05, 19.66, 31.4, 0.707, 851.6, 77.83, 201.3),
    },
    "BTEC": {
        "softmax": _row(47.72, 45.22, 1, 1, 325.0, 34.35, 323.3),
        "binary": _row(31.83, 31.90, 1670, 0.738, 250.7, 27.98, 54.62),
        "hybrid-512": _row(44.23, 43.50, 47.4, 0.743, 300.7, 28.83, 66.13),
        "hybrid-2048": _row(46.13, 45.76, 12.1, 0.759, 307.7, 28.25, 67.40),
        "binary-ec": _row(44.48, 41.21, 595, 0.738, 255.6, 28.02, 69.76),
        "hybrid-512-ec": _row(47.20, 46.52, 45.1, 0.744, 307.8, 28.44, 56.98),
        "hybrid-2048-ec": _row(48.17, 46.58, 12.0, 0.760, 311.0, 28.47, 69.44),
    },
}


def paper_rows(stands_for: str | None) -> dict[str, Row] | None:
    """The methods of a corpus of the paper, none if the paper has no such corpus."""
    return PAPER.get(stands_for or "")
