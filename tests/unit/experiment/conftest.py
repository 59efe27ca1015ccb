"""A corpus of a few pairs in two directions, a recipe for it, and a result as a cell would write it."""

import pytest
import yaml

from trellex.evaluation.result import Result
from trellex.text import Corpus, PrepareSettings, prepare

TRAINING = {"max_steps": 4, "validate_every": 2, "device": "cpu"}


@pytest.fixture(scope="session")
def corpora(tmp_path_factory):
    """Prepared folders by direction; `no-test` is one without a test split."""
    folder = tmp_path_factory.mktemp("corpora")
    files = {}
    for split in ("train", "dev", "test"):
        for side in ("source", "target"):
            files[f"{split}_{side}"] = folder / f"{split}.{side}"
            files[f"{split}_{side}"].write_text("".join(f"{side[0]}{row} {side[0]}{row % 7}\n" for row in range(20)))
    prepared = {}
    for name, left_out in (("en-ja", ()), ("ja-en", ()), ("no-test", ("test_source", "test_target"))):
        source, target = ("en", "ja") if name == "no-test" else name.split("-")
        texts = {key: path for key, path in files.items() if key not in left_out}
        languages = {"source_language": source, "target_language": target}
        tokenizers = {"source_tokenizer": "whitespace", "target_tokenizer": "whitespace"}
        prepared[name] = folder / name
        prepare(PrepareSettings(**texts, **languages, **tokenizers), folder / name)
    return prepared


@pytest.fixture(scope="session")
def pieces(corpora):
    """The folder of en-ja with the same text, the target cut into pieces."""
    settings = Corpus.open(corpora["en-ja"]).manifest.settings
    cut = {"target_tokenizer": "bpe", "target_vocab_size": 24, "bleu_tokenizer": "whitespace"}
    prepare(settings.model_copy(update=cut), corpora["en-ja"].with_name("pieces"))
    return corpora["en-ja"].with_name("pieces")


@pytest.fixture
def write_grid(corpora, tmp_path):
    """Writes a grid of one block, with some of its keys replaced, and its recipe; returns the path of the grid."""

    def write_grid(block=(), training=(), **keys):
        recipe = {"data": "none", "output": "none", "model": {"embedding_size": 8, "hidden_size": 8}}
        (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe | {"training": TRAINING | dict(training)}))
        settings = {"corpus": "Tiny", "recipe": str(tmp_path / "recipe.yaml"), "data": [str(corpora["en-ja"])]}
        settings |= {"heads": ["softmax"], **dict(block)}
        grid = {"runs": str(tmp_path / "runs"), "results": str(tmp_path / "results"), "grid": [settings]} | keys
        path = tmp_path / "grid.yaml"
        path.write_text(yaml.safe_dump(grid))
        return path

    return write_grid


@pytest.fixture
def result_of():
    """Makes the result of a job, with figures that mean nothing."""

    def result_of(job):
        evaluation = {"step": 2, "dev": 1.5, "test": 1.25}
        score = {"token_bleu": 1.25, "text_bleu": 2.5, "signatures": ["a", "b"], "sentences": [[1] * 10]}
        training = {"steps": 4, "epochs": 0.5, "tokens": 60, "seconds": 1.5, "tokens_per_second": 40.0}
        return Result(
            cell=job.cell,
            corpus=job.corpus,
            code=job.code,
            recipe=job.recipe.model_dump(mode="json"),
            versions={"trellex": "0"},
            size=dict.fromkeys(
                ("vocabulary", "outputs", "output_parameters", "all_parameters", "softmax_parameters"), 9
            )
            | {"bits": None},
            losses=[{"step": 2, "loss": 0.5}],
            curve=[evaluation],
            best=evaluation,
            averaged_test_bleu=1.25,
            training=training | {"side_by_side": 1, "peak_memory": None, "device": "a CPU"},
            scores={"greedy": score, "beam 5": score},
            rarest=[3],
            bands=[{"first_rank": 0, "end_rank": 9, "right": 1, "translated": 2, "expected": 3}],
            bit_errors={"predictions": 4, "before": 0.25, "after": 0.125, "words": 0.5},
            timing=None,
        )

    return result_of
