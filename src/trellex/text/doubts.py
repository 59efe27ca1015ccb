"""Doubts: what in the facts of a prepared corpus looks as if files or options were wrong."""

from __future__ import annotations

from trellex.text.languages import language_of_name
from trellex.text.manifest import SIDES, Manifest, PrepareSettings, SideFacts
from trellex.text.tokenizers import default_tokenizer

FEW_PAIRS = 1000  # to train on
DROPPED = 0.1  # of the training pairs, as too long
UNKNOWN = 0.2  # of the words of dev or test, more than of train; or more than the other side's vocabulary has
UNCUT = 0.05  # of the tokens look like text that was not cut
SAME_TEXT = 0.1  # of the pairs have two equal sides
MEAN_RATIO = 3  # of the sides' mean lengths
PAIR_RATIO = 9  # of the sides of a lopsided pair
LOPSIDED = 0.1  # of the pairs
CHARACTERS = 3  # both ratios may be so many times as large if one side alone is cut into characters
IN_TRAIN = 0.1  # of the pairs of dev or test


def doubts(manifest: Manifest) -> list[str]:
    """A sentence for each thing that looks wrong, with the files and the remedy. Where facts are missing none does."""
    uncut = {side for side in SIDES if _is_uncut(manifest, side)}
    found = _few_pairs(manifest) + _dropped(manifest) + _names(manifest)
    for side in sorted(uncut):
        found += _uncut(manifest, side)
    for split in manifest.splits:
        found += _same_text(manifest, split) + _in_train(manifest, split)
        if not uncut:  # else these would follow from it
            found += _lengths(manifest, split) + _unknown(manifest, split)
    return found


def pair_ratio(settings: PrepareSettings) -> int:
    """How many times the tokens of the other a side of a pair has if that is lopsided."""
    return PAIR_RATIO * _scale(settings)


def _scale(settings: PrepareSettings) -> int:
    return (
        CHARACTERS if (settings.source_tokenizer == "characters") != (settings.target_tokenizer == "characters") else 1
    )


def _files(manifest: Manifest, split: str) -> str:
    inputs = manifest.settings.inputs()
    return " and ".join(str(inputs[f"{split}_{side}"]) for side in SIDES)


def _side(manifest: Manifest, split: str, side: str) -> SideFacts:
    return manifest.splits[split].source if side == "source" else manifest.splits[split].target


def _few_pairs(manifest: Manifest) -> list[str]:
    pairs = manifest.splits["train"].pairs
    if pairs >= FEW_PAIRS:
        return []
    return [
        f"{_files(manifest, 'train')}: {pairs} pairs are enough to try things out; to translate takes many thousands"
    ]


def _dropped(manifest: Manifest) -> list[str]:
    train, limit = manifest.splits["train"], manifest.settings.max_length
    share = train.dropped_long / (train.pairs + train.dropped_short + train.dropped_long)
    if share <= DROPPED:
        return []
    return [
        f"{_files(manifest, 'train')}: {share:.0%} of the pairs are left out because a side has more than {limit} "
        "tokens; raise --max-length, or split the text into sentences"
    ]


def _names(manifest: Manifest) -> list[str]:
    """A side whose files are all named like the other's language; where some are, unknown words tell."""
    settings, found = manifest.settings, []
    languages = settings.source_language, settings.target_language
    for side, own, other in zip(SIDES, languages, reversed(languages), strict=True):
        files = [path for name, path in settings.inputs().items() if name.endswith(side)]
        if own != other and all(language_of_name(file) == other for file in files):
            found.append(f"{', '.join(map(str, files))}: given as {own}, named {other}; are the two sides swapped?")
    return found


def _is_uncut(manifest: Manifest, side: str) -> bool:
    tokenizer = getattr(manifest.settings, f"{side}_tokenizer")
    return tokenizer in ("whitespace", "moses") and (_side(manifest, "train", side).uncut_rate or 0) > UNCUT


def _uncut(manifest: Manifest, side: str) -> list[str]:
    settings, rate = manifest.settings, _side(manifest, "train", side).uncut_rate or 0
    used, right = getattr(settings, f"{side}_tokenizer"), default_tokenizer(getattr(settings, f"{side}_language"))
    return [
        f"{settings.inputs()[f'train_{side}']}: {rate:.0%} of the tokens have punctuation attached, or are whole "
        f"phrases: {used} does not cut this text; give --{side}-tokenizer {right if right != used else 'characters'}"
    ]


def _same_text(manifest: Manifest, split: str) -> list[str]:
    facts = manifest.splits[split]
    share = (facts.same_text or 0) / facts.pairs
    if share <= SAME_TEXT:
        return []
    return [
        f"{_files(manifest, split)}: {share:.0%} of the lines are the same in both files, so a model learns to copy; "
        "leave out what is not translated, and check that these are the files that you meant"
    ]


def _in_train(manifest: Manifest, split: str) -> list[str]:
    facts = manifest.splits[split]
    share = (facts.in_train or 0) / facts.pairs
    if share <= IN_TRAIN:
        return []
    return [
        f"{_files(manifest, split)}: {share:.0%} of the pairs stand in train, too, so {split} scores will be too good; "
        f"leave them out of {_files(manifest, 'train')}"
    ]


def _lengths(manifest: Manifest, split: str) -> list[str]:
    facts, scale = manifest.splits[split], _scale(manifest.settings)
    few, many = sorted((facts.source.tokens, facts.target.tokens))
    share = (facts.lopsided or 0) / facts.pairs
    if many > MEAN_RATIO * scale * max(few, 1):
        problem = f"one side has {many / max(few, 1):.1f} times as many tokens as the other"
    elif share > LOPSIDED:
        problem = f"in {share:.0%} of the pairs one side has over {pair_ratio(manifest.settings)} times as many tokens"
    else:
        return []
    return [
        f"{_files(manifest, split)}: {problem}; check that line n of one is the translation of line n of the other, "
        "and that the tokenizers suit the text"
    ]


def _unknown(manifest: Manifest, split: str) -> list[str]:
    """Words of dev and test that train does not have, unless the other side has them: then files were swapped."""
    strange = []
    for side, other in zip(SIDES, reversed(SIDES), strict=True):
        facts, train = _side(manifest, split, side), _side(manifest, "train", side)
        if facts.unknown_rate <= train.unknown_rate + UNKNOWN:
            continue
        name, elsewhere = f"{split}_{side}", facts.unknown_to_other_side
        if elsewhere is not None and facts.unknown_rate > elsewhere + UNKNOWN:
            return [
                f"{name} looks like {other}-language text: {facts.unknown_rate:.0%} of its words are unknown, "
                f"{elsewhere:.0%} with the {other} vocabulary; are the two files swapped, "
                f"{_files(manifest, split)}, or those of train?"
            ]
        strange.append(
            f"{manifest.settings.inputs()[name]}: {facts.unknown_rate:.0%} of the words of {name} are unknown, "
            f"{train.unknown_rate:.0%} in training; check that both are the same language, kind of text, case and cut"
        )
    return strange
