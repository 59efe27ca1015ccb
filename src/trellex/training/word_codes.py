"""The codes of a new training's words, which their vectors are composed from."""

from __future__ import annotations

from trellex.codes import Code
from trellex.nmt.word_codes import WordCodes
from trellex.text.corpus import Corpus
from trellex.text.word_vectors import word_vectors
from trellex.training.display import Display
from trellex.training.processes import Processes
from trellex.training.recipe import Recipe
from trellex.training.text_codes import told


def word_codes(
    recipe: Recipe, corpus: Corpus, processes: Processes, display: Display, of_head: Code | None
) -> WordCodes | None:
    """Codes of source and target words; None for a network whose word vectors are not composed.

    The first process makes clusters and tells the others, as it does for the head.

    of_head: the head's code by clusters, if it has one; of all target words, it is not made again
    """
    settings, sizes = recipe.model.embeddings, (len(corpus.source_vocabulary), len(corpus.target_vocabulary))
    if not settings.is_composed:
        return None
    if settings.code != "clusters":
        return WordCodes.of(settings, *sizes)
    codes = WordCodes.stand_in(*sizes)
    if processes.is_first:
        display.tell(f"numbering {sizes[0]:,} source and {sizes[1]:,} target words by clusters, for their vectors")
        train = corpus.split("train")
        source = settings.build_code(sizes[0], word_vectors(train.source_ids, train.source_lengths, sizes[0]))
        if of_head is None or of_head.vocab_size != sizes[1] or getattr(recipe.head, "code", None) != settings.code:
            vectors = word_vectors(train.target_ids, train.target_lengths, sizes[1])
            codes = WordCodes(source, settings.build_code(sizes[1], vectors))
        else:
            codes = WordCodes(source, of_head)
    return WordCodes(*(told(code, processes) for code in codes))
