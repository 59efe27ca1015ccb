"""Score given translations."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from trellex.terminal import SPELLS_NOTHING, Json, Model, SpellUnknown, Verify, errors_explained, examples, show, warn


@examples("trellex score phrasebook/run test.en test.ja --calibration")
def score(
    model: Model,
    sources: Annotated[Path, typer.Argument(help="Sentences, one a line.")],
    translations: Annotated[Path, typer.Argument(help="Their translations, line by line.")],
    output: Annotated[Path | None, typer.Option(help="Write the scores of every line here, as JSON lines.")] = None,
    calibration: Annotated[bool, typer.Option(help="Tell how often a word of probability p is right.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "cpu",
    batch_tokens: Annotated[int, typer.Option(min=1, help="Source words scored side by side.")] = 2048,
    spell_unknown: SpellUnknown = False,
    verify: Verify = True,
    threads: Annotated[
        int | None, typer.Option(min=1, help="CPU threads; 1 for an exported model unless given.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Log-probability and perplexity of given translations, the end of each sentence included.

    Probabilities sum to 1 over the vocabulary whatever the output layer is, so models of one vocabulary compare.
    Tokens are words, or pieces of words if the model writes those. Unknown ones count as <unk>, and lines with an
    empty source are skipped.
    """
    with errors_explained():
        from trellex.evaluation import Calibration
        from trellex.evaluation.perplexity import perplexity
        from trellex.files import atomic_writer, check_new_file, check_readable
        from trellex.text.lines import read_pairs
        from trellex.translator import load

        for path in (sources, translations):
            check_readable(path)
        if output is not None:
            check_new_file(output)
        translator = load(model, threads=threads, device=device, verify=verify, spell_unknown=spell_unknown)
        if spell_unknown and not translator.spells_unknown:
            warn(SPELLS_NOTHING)
        table = Calibration()

        def observe(state: Any, words: Any) -> None:
            best, log_probs = translator.model.topk(state, 1)
            table.add(best[:, 0], log_probs[:, 0], words)

        sentences = skipped = tokens = unknown = 0
        total = 0.0
        pairs = read_pairs(sources, translations)
        with nullcontext() if output is None else atomic_writer(output) as file:
            for each in translator.score(pairs, batch_tokens, observe if calibration else None):
                if each is None:
                    skipped += 1
                else:
                    sentences += 1
                    tokens += len(each.log_probs)
                    unknown += each.tokens.count("<unk>")
                    total += sum(each.log_probs)
                if file is not None:
                    file.write(json.dumps(None if each is None else each.scores(), ensure_ascii=False) + "\n")
            if not sentences:
                raise ValueError(f"{sources}: no sentences to score")
        result: dict[str, Any] = {"sentences": sentences, "tokens": tokens}
        if skipped:
            result["skipped for an empty source"] = skipped
        result |= {
            "unknown tokens": unknown,
            "log-probability": round(total, 3),
            "perplexity": round(perplexity(total, tokens), 4),
        }
        if calibration:
            result["calibration error"] = round(table.error(), 4)
            if as_json:
                result["bands"] = [band._asdict() for band in table.bands()]
            else:
                for band in table.bands():
                    name = f"probability {band.low:.1f}–{band.high:.1f}"
                    result[name] = f"mean {band.probability:.3f}, right {band.right:.3f}, {band.words:,} words"
        show(result, as_json)
