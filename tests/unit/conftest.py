"""Small models with vocabularies, as they were trained and exported, for the runtime and the translator."""

import numpy as np
import pytest
import torch

from trellex.heads import HeadSpec
from trellex.heads.hybrid import HybridHead
from trellex.loaded import LoadedModel
from trellex.nmt.build import build_model
from trellex.nmt.settings import ModelSettings
from trellex.runtime.model import load_export
from trellex.text.manifest import TextSettings
from trellex.text.vocabulary import MARKERS, Vocabulary
from trellex.training import checkpoint

TEXT = TextSettings(source_language="en", target_language="en", source_tokenizer="whitespace", target_tokenizer="moses")
SOURCE_SIZE = 40


def vocabulary(size, letter):
    """w3, w4, … with counts that fall as those of words do."""
    words = [*MARKERS, *(f"{letter}{place}" for place in range(3, size))]
    return Vocabulary(words, [1 + 1000 // (place + 1) for place in range(size)])


@pytest.fixture(scope="session")
def model_of():
    """Makes a model of random weights, large enough that it says different things, with what it needs to translate."""

    def model_of(head, target_size=40, hidden_size=16, input_feeding=False, seed=0, **network):
        torch.manual_seed(seed)
        sizes = {"embedding_size": 16, "hidden_size": hidden_size, "input_feeding": input_feeding}
        settings = ModelSettings(**sizes, **network)
        source, target = vocabulary(SOURCE_SIZE, "s"), vocabulary(target_size, "t")
        model = build_model(settings, head, len(source), target).eval().requires_grad_(False)
        for parameter in model.parameters():
            parameter.normal_(0, 2 / hidden_size**0.5)
        layer = model.head
        if isinstance(layer, HybridHead):  # rare words should win, too
            layer.softmax.weight.mul_(0.5)
            layer.softmax.bias[layer.first_rare] = 2.5
            layer.bits.linear.weight.mul_(3)
        return LoadedModel(model, TEXT, source, target, HeadSpec.parse(head), step=7)

    return model_of


@pytest.fixture(scope="session")
def sources():
    """Sentences of different lengths."""
    random = np.random.default_rng(0)
    return [random.integers(3, SOURCE_SIZE, length) for length in (4, 1, 9, 2, 6)]


@pytest.fixture(scope="session")
def both(model_of, tmp_path_factory):
    """Makes a model in torch and the same one exported and loaded; both remember what they made."""
    from trellex.runtime.export import export  # needs the package onnx

    made = {}

    def both(head, precision="fp32", **options):
        key = str((head, precision, options))
        if key not in made:
            ours = model_of(head, **options)
            folder = tmp_path_factory.mktemp("exported") / precision
            export(ours, folder, precision)
            made[key] = ours, load_export(folder), folder
        return made[key]

    return both


@pytest.fixture(scope="session")
def run(model_of, tmp_path_factory):
    """A run with one checkpoint, and the model that is in it."""
    loaded = model_of("hybrid-9-ec")
    folder = tmp_path_factory.mktemp("trained") / "run"
    vocabularies = {"source": loaded.source_vocabulary, "target": loaded.target_vocabulary}
    for side, words in vocabularies.items():
        words.save(folder.parent / side)
    files = {f"{split}_{side}": "none" for split in ("train", "dev") for side in vocabularies}
    recipe = {"head": loaded.head.model_dump(), "model": loaded.model.network.settings.model_dump()}
    recipe |= {"data": "data", "output": "run"}
    checkpoint.save_checkpoint(
        checkpoint.step_folder(folder, 7),
        {"model": loaded.model.state_dict()},
        {f"vocab.{side}.txt": folder.parent / side for side in vocabularies},
        {"recipe": recipe, "step": 7, "corpus": TEXT.model_dump() | files},
        loaded.model.head.code,
    )
    return folder, loaded
