"""From lines of text to translations, with a trained model in torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from trellex.heads import build_head
from trellex.nmt.model import ModelSettings, TranslationModel
from trellex.text.manifest import PrepareSettings
from trellex.text.tokenizers import build_tokenizer
from trellex.text.vocabulary import Vocabulary
from trellex.training import checkpoint
from trellex.training.processes import choose_device
from trellex.training.validation import translate_ids

CHUNK = 2048  # lines translated together: enough to sort by length, few enough to stream


class Translator:
    """A checkpoint with its tokenisers and vocabularies.

    Args:
        path: a checkpoint, or a run, whose best checkpoint is taken
        device: auto, cpu or cuda
        decoding: "paper" or "exact", instead of what the model was trained with
    """

    def __init__(self, path: Path, device: str = "cpu", decoding: str | None = None) -> None:
        self.folder = checkpoint.model_folder(path)
        self.info = checkpoint.load_info(self.folder)
        corpus = PrepareSettings.model_validate(self.info["corpus"])
        self.source_tokenizer = build_tokenizer(
            corpus.source_tokenizer, corpus.source_language, corpus.source_lowercase
        )
        self.target_tokenizer = build_tokenizer(
            corpus.target_tokenizer, corpus.target_language, corpus.target_lowercase
        )
        self.source_vocabulary = Vocabulary.load(self.folder / "vocab.source.txt")
        self.target_vocabulary = Vocabulary.load(self.folder / "vocab.target.txt")
        settings = ModelSettings.model_validate(self.info["recipe"]["model"])
        spec: Any = self.info["recipe"]["head"]
        if decoding is not None:
            spec = {**({"type": spec} if isinstance(spec, str) else spec), "decoding": decoding}
        head = build_head(spec, hidden_size=settings.hidden_size, vocab=self.target_vocabulary)
        self.model = TranslationModel(settings, len(self.source_vocabulary), len(self.target_vocabulary), head)
        checkpoint.load_state(self.model, checkpoint.load_tensors(self.folder, "model"), self.folder)
        self.model.to(choose_device(device)).eval()

    def translate(self, lines: Iterable[str], batch_sentences: int = 64, tokens: bool = False) -> Iterator[str]:
        """Translations in the order of the lines, a chunk of them in memory at a time; empty lines stay empty.

        With `tokens` they stay tokenised, with spaces between.
        """
        remaining = iter(lines)
        while chunk := list(islice(remaining, CHUNK)):
            sources = [self.source_vocabulary.ids(self.source_tokenizer.tokenize(line)) for line in chunk]
            for words in translate_ids(self.model, sources, batch_sentences):
                target = self.target_vocabulary.tokens(np.array(words, np.int64))
                yield " ".join(target) if tokens else self.target_tokenizer.detokenize(target)
