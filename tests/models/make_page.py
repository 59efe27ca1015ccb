"""Make the model of the page's tests anew: python tests/models/make_page.py

It knows the phrases of the phrasebook that frequent words alone make up, and reads every word from its bits.
"""

import os
import tempfile
from collections import Counter
from pathlib import Path

import yaml
from make import HERE, trellex

from trellex import phrasebook

PAIRS, WORDS = 20_000, 450
RECIPE = {
    "head": {"type": "binary-ec", "loss": "trellis"},
    "model": {"type": "lstm", "embedding_size": 24, "hidden_size": 40, "dropout": 0.0},
    "training": {
        "batch_sentences": 64,
        "learning_rate": 0.008,
        "warmup_steps": 50,
        "decay_steps": 600,
        "max_steps": 2400,
        "validate_every": 800,
        "save_every": 800,
        "threads": 1,
        "device": "cpu",
    },
}


def of_frequent_words(pairs):
    """The pairs that only have words of the most frequent ones of their side."""
    sides = []
    for place in range(2):
        counts = Counter(word for pair in pairs for word in pair[place].split())
        sides.append({word for word, _ in counts.most_common(WORDS)})
    return [pair for pair in pairs if all(words.issuperset(pair[place].split()) for place, words in enumerate(sides))]


def main():
    pairs = of_frequent_words(list(phrasebook.generate(PAIRS)))
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)  # so that the files name no folders of this machine
        options = ["--source-language", "en", "--target-language", "ja", "--tokenizer", "whitespace", "--min-count", 1]
        for split, some in (("train", pairs[200:]), ("dev", pairs[:200])):
            for place, (side, language) in enumerate((("source", "en"), ("target", "ja"))):
                file = Path(f"{split}.{language}")
                file.write_text("".join(pair[place] + "\n" for pair in some), encoding="utf-8")
                options += [f"--{split}-{side}", file]
        print(trellex("prepare", "data", *options))
        Path("recipe.yaml").write_text(yaml.safe_dump(RECIPE | {"data": "data", "output": "run"}))
        print(trellex("train", "recipe.yaml", "--quiet"))
        print(trellex("export", "run", HERE / "page"))


if __name__ == "__main__":
    main()
