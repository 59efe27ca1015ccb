"""Text: tokenisers, vocabularies, prepared corpora and batches. All of it works without torch."""

from trellex.text.batches import batches, pad
from trellex.text.corpus import Corpus, Manifest, ParallelIds, PrepareSettings, prepare
from trellex.text.lines import read_lines, read_pairs
from trellex.text.tokenizers import Tokenizer, build_tokenizer
from trellex.text.vocabulary import BOS, EOS, UNK, Vocabulary

__all__ = [
    "BOS",
    "EOS",
    "UNK",
    "Corpus",
    "Manifest",
    "ParallelIds",
    "PrepareSettings",
    "Tokenizer",
    "Vocabulary",
    "batches",
    "build_tokenizer",
    "pad",
    "prepare",
    "read_lines",
    "read_pairs",
]
