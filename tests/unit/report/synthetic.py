"""Results as experiments might leave them: BLEU like the paper's, curves that rise, sentences that agree with both."""

import re

import numpy as np

from trellex.evaluation.bootstrap import bleu_of
from trellex.evaluation.result import Result

METHODS = ("softmax", "binary", "hybrid-512", "hybrid-2048", "binary-ec", "hybrid-512-ec", "hybrid-2048-ec")
BLEU = {
    ("KFTT", "en-ja"): (31.13, 13.78, 22.81, 27.73, 25.95, 29.07, 30.05),
    ("KFTT", "ja-en"): (21.14, 6.95, 13.95, 16.92, 18.02, 18.66, 19.66),
    ("Tanaka", "en-ja"): (47.72, 31.83, 44.23, 46.13, 44.48, 47.20, 48.17),
    ("Tanaka", "ja-en"): (45.22, 31.90, 43.50, 45.76, 41.21, 46.52, 46.58),
}
VOCABULARY = {"KFTT": 65536, "Tanaka": 25000}
STANDS_FOR = {"KFTT": "ASPEC", "Tanaka": "BTEC"}
HIDDEN = 512
SIGNATURES = ["nrefs:1|case:lc|tok:none|smooth:exp", "nrefs:1|case:mixed|tok:char|smooth:exp"]


def all_results(seeds=(1,), methods=METHODS, sentences=400):
    """Every method of the paper on two corpora in both directions."""
    return [
        make_result(corpus, direction, method, bleu, seed, sentences)
        for (corpus, direction), scores in BLEU.items()
        for method, bleu in zip(METHODS, scores, strict=True)
        if method in methods
        for seed in seeds
    ]


def save_all(results, folder):
    """A file for each result, named by its cell; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for result in results:
        result.save(folder / f"{result.cell.name}.json")
    return folder


def as_in_the_paper(head):
    """A name stands for the paper's method, which has decoding of its own."""
    return {"type": head, "decoding": "paper"} if isinstance(head, str) and head != "softmax" else head


def make_result(corpus="KFTT", direction="en-ja", head="softmax", bleu=31.13, seed=1, sentences=400, **replaced):
    """The result of one cell; keys of the file may be replaced."""
    source, target = direction.split("-")
    kind = head if isinstance(head, str) else head["type"]
    random = np.random.default_rng([seed, *(f"{corpus}{direction}{head}".encode())])
    bleu = bleu + (random.normal(0, 0.25) if seed > 1 else 0)
    vocabulary = VOCABULARY[corpus]
    size = make_size(kind, vocabulary)
    curve = make_curve(bleu, random)
    rarest = make_rarest(corpus, direction, vocabulary, sentences)
    greedy, beam = (make_sentences(bleu + gain, rarest, vocabulary, random, sentences) for gain in (0, 0.9))
    result = {
        "cell": {
            "corpus": corpus,
            "stands_for": STANDS_FOR[corpus],
            "source_language": source,
            "target_language": target,
            "head": as_in_the_paper(head),
            "seed": seed,
        },
        "recipe": {
            "data": f"data/{corpus}",
            "output": f"runs/{corpus}-{seed}",
            "head": head,
            "model": {"embedding_size": HIDDEN, "hidden_size": HIDDEN, "dropout": 0.3, "input_feeding": False},
            "training": {
                "seed": seed,
                "batch_sentences": 64,
                "learning_rate": 0.001,
                "max_steps": curve[-1]["step"],
                "patience": None,
            },
        },
        "versions": {"trellex": "0.1.0", "torch": "2.11.0", "python": "3.11.9"},
        "size": size,
        "losses": [{"step": each["step"], "loss": 9.0 - 0.1 * each["test"]} for each in curve],
        "curve": curve,
        "best": max(curve, key=lambda each: each["dev"]),
        "averaged_test_bleu": bleu,
        "training": {
            "steps": curve[-1]["step"],
            "epochs": 12.3,
            "tokens": curve[-1]["step"] * 1600,
            "seconds": 5000.0,
            "tokens_per_second": 41000.0 if kind == "softmax" else 58000.0,
            "side_by_side": 7,
            "peak_memory": 9_400_000_000 if kind == "softmax" else 5_100_000_000,
            "device": "NVIDIA H200",
        },
        "scores": {"greedy": make_score(greedy), "beam 5": make_score(beam)},
        "rarest": rarest,
        "bands": make_bands(bleu, vocabulary),
        "bit_errors": make_bit_errors(kind),
        "timing": make_timing(size["outputs"]),
    }
    return Result.model_validate(result | replaced)


def make_size(kind, vocabulary):
    base, words = re.fullmatch(r"(softmax|binary|shelves|hybrid-(\d+))(?:-ec)?", kind).groups()
    bits = (vocabulary - 1).bit_length()
    bits = None if base == "softmax" else 2 * (bits + 6) if kind.endswith("-ec") else bits
    outputs = vocabulary if bits is None else int(words or 0) + bits
    softmax = (HIDDEN + 1) * vocabulary
    return {
        "vocabulary": vocabulary,
        "bits": bits,
        "outputs": outputs,
        "output_parameters": (HIDDEN + 1) * outputs,
        "all_parameters": 2 * HIDDEN * vocabulary + 10_000_000 + (HIDDEN + 1) * outputs,
        "softmax_parameters": softmax,
    }


def make_curve(bleu, random, evaluations=40, every=1000):
    steps = np.arange(1, evaluations + 1) * every
    test = bleu * (1 - np.exp(-steps / (6 * every))) + random.normal(0, 0.35, evaluations)
    dev = test + 0.8 + random.normal(0, 0.2, evaluations)
    return [
        {"step": int(step), "dev": float(max(d, 0)), "test": float(max(t, 0))}
        for step, d, t in zip(steps, dev, test, strict=True)
    ]


def make_rarest(corpus, direction, vocabulary, sentences):
    """Ranks spread evenly on a logarithmic scale; every seventh sentence has an unknown word."""
    random = np.random.default_rng([*f"{corpus} {direction}".encode()])
    ranks = np.exp(random.uniform(np.log(60), np.log(vocabulary), sentences)).astype(int)
    ranks[::7] = vocabulary
    return ranks.tolist()


def make_sentences(bleu, rarest, vocabulary, random, sentences):
    """Statistics whose BLEU is near the given one, worse where words are rarer."""
    lengths = np.random.default_rng(0).integers(6, 40, sentences)
    ease = 1.25 - 0.4 * np.log(np.array(rarest) + 1) / np.log(vocabulary)
    every = np.maximum(lengths[:, None] - np.arange(4), 0)
    precisions = np.clip((bleu / 100) ** np.array([0.4, 0.85, 1.2, 1.55]) * ease[:, None], 0, 1)
    right = random.binomial(every, precisions)
    return np.concatenate([lengths[:, None], lengths[:, None], right, every], 1).tolist()


def make_score(sentences):
    bleu = bleu_of(np.array(sentences))
    return {"token_bleu": bleu, "text_bleu": bleu + 5.2, "signatures": SIGNATURES, "sentences": sentences}


def make_bands(bleu, vocabulary):
    edges = [0, 100, 1000, 10000, vocabulary]
    bands = [
        {
            "first_rank": first,
            "end_rank": end,
            "right": int(expected * min(bleu / 100 * factor, 0.95)),
            "translated": expected,
            "expected": expected,
        }
        for first, end, expected, factor in zip(
            edges[:-1], edges[1:], (9000, 5200, 3100, 900), (1.9, 1.5, 1.1, 0.7), strict=True
        )
    ]
    unknown = {"first_rank": vocabulary, "end_rank": vocabulary, "right": 0, "translated": 40, "expected": 210}
    return [*bands, unknown]


def make_bit_errors(kind):
    if kind == "softmax":
        return None
    after = 0.021 if kind.endswith("-ec") else 0.068
    return {"predictions": 18200 if kind.startswith("b") else 4100, "before": 0.068, "after": after, "words": 4 * after}


def timed_in_int8(result, milliseconds, steps=24.5, listed=None, size=None, compact=None):
    """The same result with times in int8 and, if `listed` are given, what a shortlist makes of it.

    size: bytes of the export; compact: milliseconds of a compact one, which has half of those
    """
    data = result.model_dump()
    data["timing"] |= {"int8": {"sentence": milliseconds, "steps": steps, "bytes": size}}
    if compact is not None:
        data["timing"]["compact"] = {"sentence": compact, "steps": steps, "bytes": size // 2}
    if listed is not None:
        data["timing"]["listed"] = {"sentence": listed, "steps": steps - 1}
        scores = {
            search: score | {"token_bleu": score["token_bleu"] - 0.25, "text_bleu": score["text_bleu"] - 0.5}
            for search, score in data["scores"].items()
        }
        data["selection"] = {"scores": scores, "recall": 0.9625, "list_words": 812.4}
    return Result.model_validate(data)


def make_timing(outputs):
    return {
        "train_batch": 20 + outputs / 2000,
        "batch_sentences": 64,
        "batch_tokens": 1650,
        "gpu_sentence": 15 + outputs / 10000,
        "cpu_sentence": 12 + outputs / 200,
        "sentences": 200,
        "gpu": "NVIDIA H200",
        "cpu": "AMD EPYC 9454",
    }
