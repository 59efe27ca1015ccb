"""Small models with vocabularies, as they were trained and exported, for the runtime and the translator."""

import numpy as np
import pytest
import torch

from trellex.heads import HybridHead, build_head
from trellex.nmt import ModelSettings, TranslationModel
from trellex.runtime.export import export
from trellex.runtime.loading import load_export
from trellex.text.manifest import TextSettings
from trellex.text.vocabulary import MARKERS, Vocabulary
from trellex.training import checkpoint
from trellex.translator import Translator

torch.set_num_threads(1)
TEXT = TextSettings(source_language="en", target_language="en", source_tokenizer="whitespace", target_tokenizer="moses")
SOURCE_SIZE = 40


def vocabulary(size, letter):
    """w3, w4, … with counts that fall as those of words do."""
    words = [*MARKERS, *(f"{letter}{place}" for place in range(3, size))]
    return Vocabulary(words, [1 + 1000 // (place + 1) for place in range(size)])


@pytest.fixture(scope="session")
def translator_of():
    """Makes a translator whose model has random weights, large enough that it says different things."""

    def translator_of(head, target_size=40, hidden_size=16, input_feeding=False, seed=0):
        torch.manual_seed(seed)
        settings = ModelSettings(embedding_size=16, hidden_size=hidden_size, input_feeding=input_feeding)
        source, target = vocabulary(SOURCE_SIZE, "s"), vocabulary(target_size, "t")
        layer = build_head(head, hidden_size=hidden_size, vocab=target)
        model = TranslationModel(settings, len(source), len(target), layer).eval().requires_grad_(False)
        for parameter in model.parameters():
            parameter.normal_(0, 2 / hidden_size**0.5)
        if isinstance(layer, HybridHead):  # rare words should win, too
            layer.softmax.weight.mul_(0.5)
            layer.softmax.bias[layer.other] = 2.5
            layer.bits.linear.weight.mul_(3)
        info = {"recipe": {"head": head, "model": settings.model_dump()}, "step": 7}
        return Translator(model, TEXT, source, target, info)

    return translator_of


@pytest.fixture(scope="session")
def sources():
    """Sentences of different lengths."""
    random = np.random.default_rng(0)
    return [random.integers(3, SOURCE_SIZE, length) for length in (4, 1, 9, 2, 6)]


@pytest.fixture(scope="session")
def both(translator_of, tmp_path_factory):
    """Makes a translator in torch and the same one exported and loaded; both remember what they made."""
    made = {}

    def both(head, precision="fp32", **options):
        key = str((head, precision, options))
        if key not in made:
            ours = translator_of(head, **options)
            folder = tmp_path_factory.mktemp("exported") / precision
            export(ours, folder, precision)
            made[key] = ours, load_export(folder), folder
        return made[key]

    return both


@pytest.fixture(scope="session")
def run(translator_of, tmp_path_factory):
    """A run with one checkpoint, and the translator that is in it."""
    translator = translator_of("hybrid-9-ec")
    folder = tmp_path_factory.mktemp("trained") / "run"
    vocabularies = {"source": translator.source_vocabulary, "target": translator.target_vocabulary}
    for side, words in vocabularies.items():
        words.save(folder.parent / side)
    files = {f"{split}_{side}": "none" for split in ("train", "dev") for side in vocabularies}
    checkpoint.save_checkpoint(
        checkpoint.step_folder(folder, 7),
        {"model": translator.model.state_dict()},
        {f"vocab.{side}.txt": folder.parent / side for side in vocabularies},
        translator.info | {"corpus": TEXT.model_dump() | files},
    )
    return folder, translator
