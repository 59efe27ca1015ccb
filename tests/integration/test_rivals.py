"""Free codes and rivals through the command line: trained, resumed, exported, and translating alike in both."""

import json

import pytest

from trellex.training import checkpoint

HEADS = {
    "hierarchical (clusters)": {"type": "hierarchical", "code": "clusters"},
    "adaptive (cutoffs [100, 400])": {"type": "adaptive", "cutoffs": [100, 400]},
    "differentiated": "differentiated",
    "free (bits 16)": {"type": "free", "bits": 16},
    "free (sampled, samples 50)": {"type": "free", "loss": "sampled", "samples": 50},
    "softmax (sampled, samples 50)": {"type": "softmax", "loss": "sampled", "samples": 50},
    "softmax (clusters, tied, sampled, samples 8, proposal code)": {
        **{"type": "softmax", "tied": True, "loss": "sampled", "samples": 8},
        **{"proposal": "code", "code": "clusters"},
    },
}


@pytest.mark.parametrize("label", HEADS)
def test_from_training_to_an_exported_model(trellex, write_recipe, phrasebook, tmp_path, label):
    run, source = tmp_path / "run", tmp_path / "source.en"
    recipe = write_recipe(run, HEADS[label], max_steps=2, validate_every=2, save_every=2)
    for steps in (2, 4):
        assert trellex("train", recipe, "--max-steps", steps).exit_code == 0
    info = checkpoint.load_info(checkpoint.checkpoints(run)[-1])
    assert (info.recipe.head.label, info.step) == (label, 4)
    told = json.loads(trellex("info", run, "--json").stdout)
    assert told["#out"] > 0
    exported = tmp_path / "exported"
    assert trellex("export", run, exported, "--precision", "fp32").exit_code == 0
    if "softmax" in label:  # what only training needs stays behind
        assert not (exported / "code.json").exists()
    source.write_text("".join(f"{line}\n" for line in (phrasebook / "test.en").read_text().splitlines()[:4]))
    for beam in (1, 3):
        found = [trellex("translate", model, source, "--beam", beam) for model in (run, exported)]
        assert [each.exit_code for each in found] == [0, 0], [each.stderr for each in found]
        assert found[0].stdout == found[1].stdout
        assert len(found[0].stdout.splitlines()) == 4
