"""What a report says, from the first paragraph to the last table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trellex.evaluation.curve import AVERAGED, ENOUGH
from trellex.report import figures, paper_table, quality_tables, training_tables
from trellex.report.blocks import Block, Heading, Paragraph, Picture
from trellex.report.codes import codes
from trellex.report.comparisons import LEVEL, comparisons, shortlists
from trellex.report.output_layers import output_layers
from trellex.report.overview import overview
from trellex.report.result_set import Corpus, Direction, ResultSet, methods_of
from trellex.report.styles import method_styles
from trellex.report.systems import listed_methods

SHELVES = (
    "with shelves the first bits of a word's code find a few words, of which the decoder's word vectors choose one; "
)
PIECES = (
    " Behind a comma stands how text is cut into pieces of words. BLEU and perplexity are those of words all the same: "
    "translations are joined to text and cut into words. F1 of words by rank is not known of methods that write pieces."
)
OVERVIEW = (
    "The parameters that an output layer adds to a model, which has the decoder's word vectors anyway; its "
    "multiply-adds for a word, without the additions in a trellis; and what both are of a softmax's. Perplexity is "
    "that of dev when the words before are the reference's, the end of each sentence included: exp of the mean −log P. "
    "BLEU is of tokens, with the checkpoint that is best on dev. F1 is of greedy search, in percent."
)
OUTPUT_LAYERS = (
    "All that one can choose to translate with, by the checkpoint that is best on dev. BLEU is of words, also where a "
    "model writes pieces; text BLEU does not depend on how words are cut either, for Japanese it is of characters: it "
    "compares all systems. CPU: a sentence by greedy search, one at a time, exported in int8, on one thread, all "
    "systems in turns unless a note says otherwise. Steps: words or pieces that are written for it, its end included. "
    "With a shortlist a softmax scores, for each sentence, those words alone that training showed as translations of "
    "its words, on average #out; all others have no probability, hence no perplexity. MB: millions of bytes of all "
    "files of the export, and of the shortlist if there is one; compact is the smaller of the two kinds in 8 bits. The "
    "figure has text BLEU of greedy search, as its times are of that; its line joins the systems than which none is "
    "both faster and better. Of several seeds, the mean."
)
TABLE = (
    "BLEU is of tokens, case-insensitive, by greedy search: {figure}. Bold is the best, italic the second. "
    "B: bits of a word, with error correction those of its code word; #out: outputs of the layer; then its parameters, "
    "their share of a softmax's, and all parameters of the model relative to those of the model with a softmax."
)
MEAN = "the mean of test BLEU over 5 consecutive evaluations around the best on dev, as in the paper"
BEST = (
    f"test BLEU of the checkpoint that is best on dev, since trainings with fewer than {ENOUGH} evaluations are "
    f"compared, too few for the paper's mean of {AVERAGED}"
)
TIME = (
    "Measured after training{meanwhile}: a training batch, the median over steps{sentence}. Of softmax: how many times "
    "softmax's time; faster: how many times as fast as softmax. Of several seeds, the mean."
)
SENTENCE = (
    ", and a sentence by greedy search, one at a time, {where}, the mean over sentences that each count their median"
)
QUALITY = (
    "The checkpoint that is best on dev, BLEU of tokens but for the column of text, where the tokens of translations "
    "and of references alike are joined again. Length is that of the translations in percent of the references', in "
    "tokens. Intervals come from 1,000 bootstrap resamples of the test sentences, p "
    "from the paired bootstrap of the difference to softmax, of one tail as in sacreBLEU: about half of a two-sided "
    "one. Of several seeds, intervals, difference and p are those of the first, so that a mean may lie outside."
)
COMPARISONS = (
    "Differences of token BLEU, with the paired bootstrap as above; where methods have several seeds, that is of the "
    "first, and the differences of further seeds that both have stand beside it. Significantly means "
    f"p < {LEVEL}, of one tail and not corrected for the number of methods."
)
CURVES = "Test BLEU while training, a line for each training; several seeds are thin lines of one kind."
HYBRIDS = (
    "BLEU against the size N of a hybrid's softmax. Softmax and binary codes alone are the bounds of a hybrid. Of "
    "several seeds, points are the mean and bars reach from the lowest to the highest."
)
OUTPUT_SIZE = (
    "The more to the left, the smaller the output layer. Of several seeds, points are the mean and bars reach from the "
    "lowest to the highest."
)
BIT_ERRORS = (
    "On the test set, when the words before are the reference's. Before: wrong bits of the code words, each bit read "
    "on its own; after: wrong bits of the decoded words; wrong words: those with a wrong bit after decoding. A "
    "hybrid's bits are asked for those words alone that its softmax does not have, hence the number of predictions."
)
CODES = (
    "Output layers that differ in nothing but which bits a word has. BLEU is of tokens, with the checkpoint that is "
    "best on dev. Free codes, bits that learn, have a layer of their own. Wrong bits, where bits are read one by one, "
    "are those of the section before; the zeros that fill up Huffman codes count among them, so that codes compare by "
    "wrong words."
)
BANDS = (
    "Greedy search. Ranks are by frequency in training. Sentences are grouped by their rarest reference word; F1 is of "
    "translated words that the reference of the sentence has, too, unknown words left out."
)
UNKNOWN = (
    "Greedy token BLEU of the sentences whose source has words that are not in the vocabulary, and of all others. "
    "Such a word is read as one symbol; spelling: by the code of known words that are written like it, which models "
    "with composed vectors can, and what that changes for known target words by their frequency is told of those. A "
    "translation never has an unknown target word, whose F1 is 0 for all models of words."
)
LENGTHS = "Token BLEU of the checkpoint that is best on dev. A reference's length is in tokens."
TRAINING = (
    "Side by side: how many trainings shared the device, so that tokens/s tell of that mixture, not of a method alone. "
    "Peak memory is that of one training."
)


def sections(result_set: ResultSet) -> list[Block]:
    """All blocks of the report, in order."""
    styles = method_styles(methods_of(result_set.results) | listed_methods(result_set.results))
    blocks: list[Block] = [Paragraph(_introduction(result_set))]
    for corpus in result_set.corpora:
        blocks += [Heading(2, corpus.name), *_corpus(corpus, styles)]
    blocks += [Heading(2, "Training"), Paragraph(TRAINING), *map(training_tables.trainings, result_set.corpora)]
    return [*blocks, training_tables.settings(result_set), training_tables.software(result_set)]


def _introduction(result_set: ResultSet) -> str:
    trainings = _count(len(result_set.results), "training")
    heads = methods_of(result_set.results).values()
    methods = _count(len(heads), "method")
    shelves = SHELVES if any(head.base == "shelves" for head in heads) else ""
    return (
        f"{trainings} of {methods} on {' and '.join(corpus.name for corpus in result_set.corpora)}: "
        "translation with output layers that predict the binary codes of words, against a softmax over all words, "
        "after Oda et al., Neural Machine Translation via Binary Code Prediction (ACL 2017). In hybrid-N the most "
        "frequent words have a softmax of size N and all others codes; -ec means that an error-correcting code "
        f"protects the bits; {shelves}in brackets stands what differs from the paper. BLEU is in percent. A figure "
        "with ± is the mean over seeds and half of their range, one without comes from one seed."
        + (PIECES if any(result.cell.cut for result in result_set.results) else "")
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _corpus(corpus: Corpus, styles: figures.Styles) -> Iterator[Block]:
    directions, times = corpus.directions, paper_table.times_of(corpus)
    yield from _section("Overview", OVERVIEW, [table for table in map(overview, directions) if table is not None])
    yield from _section("Which output layer?", OUTPUT_LAYERS, _choice(directions, styles))
    yield from _section("The paper's table", TABLE.format(figure=_bleu(corpus)), [paper_table.quality_and_size(corpus)])
    if times:
        where = " and ".join(paper_table.where_timed(corpus))
        sentence = SENTENCE.format(where=where) if where else ""
        yield from _section("Time", TIME.format(meanwhile=paper_table.meanwhile(corpus), sentence=sentence), times)
    else:
        yield from (Heading(3, "Time"), Paragraph("Not measured."))
    yield from _section("Quality", QUALITY, [quality_tables.scores(direction) for direction in directions])
    compared = [table for direction in directions for table in comparisons(direction)]
    compared += [table for table in map(shortlists, directions) if table is not None]
    yield from _section("Differences to softmax", COMPARISONS, compared)
    by_length = map(quality_tables.length_bands, directions)
    yield from _section("Short and long sentences", LENGTHS, [table for table in by_length if table is not None])
    yield from _section("Training curves", CURVES, _pictures(directions, figures.curves, styles))
    yield from _section("The softmax in a hybrid", HYBRIDS, _pictures(directions, figures.hybrid_sizes, styles))
    yield from _section("Size and quality", OUTPUT_SIZE, _pictures(directions, figures.output_size, styles))
    errors = map(quality_tables.bit_errors, directions)
    yield from _section("Bit errors", BIT_ERRORS, [table for table in errors if table is not None])
    coded = map(codes, directions)
    yield from _section("Codes of words", CODES, [table for table in coded if table is not None])
    by_rank: list[Block] = []
    for direction in directions:
        tables = quality_tables.bleu_bands(direction), quality_tables.f1_bands(direction)
        by_rank += [table for table in tables if table is not None]
        by_rank += _pictures([direction], figures.frequency_bands, styles)
    yield from _section("Frequent and rare words", BANDS, by_rank)
    of_unknown = quality_tables.unknown_bands, quality_tables.spelled_f1_bands
    unknown = [make(direction) for direction in directions for make in of_unknown]
    yield from _section("Words that training has not seen", UNKNOWN, [table for table in unknown if table is not None])


def _choice(directions: Sequence[Direction], styles: figures.Styles) -> list[Block]:
    """A table and a figure of each direction that has times in int8."""
    blocks: list[Block] = []
    for direction in directions:
        if table := output_layers(direction):
            blocks += [table, *_pictures([direction], figures.cpu_time, styles)]
    return blocks


def _bleu(corpus: Corpus) -> str:
    """Which BLEU the figures of each direction are, in words."""
    directions = {
        text: ", ".join(each.name for each in corpus.directions if each.is_averaged == is_averaged)
        for text, is_averaged in ((MEAN, True), (BEST, False))
    }
    used = {text: names for text, names in directions.items() if names}
    return "; ".join(used if len(used) == 1 else (f"{names}: {text}" for text, names in used.items()))


def _section(heading: str, text: str, blocks: Sequence[Block]) -> list[Block]:
    """The blocks under a heading and a text; nothing if there are none."""
    return [Heading(3, heading), Paragraph(text), *blocks] if blocks else []


def _pictures(directions: Sequence[Direction], plot: figures.Plot, styles: figures.Styles) -> list[Picture]:
    """A figure for each direction that has one."""
    drawn = (figures.draw(plot, direction, styles) for direction in directions)
    return [picture for picture in drawn if picture is not None]
