"""Ten sentences into Japanese by the model that comes with Trellex, on one CPU thread, without torch: `make demo`.

None of them stands in the text that it was trained on.
"""

from __future__ import annotations

import time
from statistics import median

from rich.console import Console

import trellex

SENTENCES = (
    "Where is the nearest bank?",
    "I have lived in this town for ten years.",
    "She is reading a book in her room.",
    "It was raining when I got up this morning.",
    "Could you tell me what time the train leaves?",
    "My brother is taller than my father.",
    "If I were rich, I would travel around the world.",
    "He has never been to a foreign country.",
    "Please close the window before you leave the room.",
    "I don't know why she was late for school.",
)
BEAM = 5


def main() -> None:
    console = Console(highlight=False)
    translator = trellex.load("en-ja")
    translator.translate(SENTENCES[:1], beam=BEAM)  # the first time, code is compiled
    console.rule("ten sentences, by a model of 12 MB")
    times = []
    for sentence in SENTENCES:
        begin = time.perf_counter()
        [translation] = translator.translate([sentence], beam=BEAM)
        times.append(1e3 * (time.perf_counter() - begin))
        console.print(f"{sentence}\n    [bold]{translation}[/]")
    console.print(f"{median(times):.0f} ms a sentence in the median, beam {BEAM}, one CPU thread", style="dim")


if __name__ == "__main__":
    main()
