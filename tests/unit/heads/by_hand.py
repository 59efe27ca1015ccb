"""Every output layer computed by hand: plain numpy, word by word, from its weights and the paper's equations."""

from functools import cache
from itertools import pairwise

import numpy as np
import torch
from scipy.special import logsumexp
from torch import nn

from trellex.heads import build_head

H = 6
VECTOR = 5  # the size of a word's vector
UNK = 0

PLAIN = ["softmax", "binary", "binary-ec", "hybrid-9", "hybrid-9-ec"]
NUMBERED = [{"type": kind, "numbering": way} for way in ("rare", "paper") for kind in ("hybrid-9", "hybrid-9-ec")]
TIED = {"type": "softmax", "tied": True}
SINGLE = [*PLAIN, TIED, *NUMBERED]
OTHER_CODES = [
    {"type": kind, "code": code} for kind in ("binary", "binary-ec", "hybrid-9-ec") for code in ("random", "huffman")
]
LAYERED = [{"type": kind, "hidden_layer": 7} for kind in PLAIN[1:]]
MIXED = [
    {"type": kind, "mixtures": mixtures, **layer}
    for kind in PLAIN[1:]
    for mixtures in (3, 4)
    for layer in ({}, {"hidden_layer": 7})
] + [{"type": kind, "mixtures": 3, "numbering": "paper"} for kind in ("hybrid-9", "hybrid-9-ec")]
LOSSES = ["squared", "cross_entropy", "trellis"]
COMPLETE = [
    {"type": kind, "generators": "complete", "memory": memory}
    for kind in ("binary-ec", "hybrid-9-ec")
    for memory in (3, 4)
]
OTHER_COMPLETE = [
    {"type": "binary-ec", "generators": "complete"},
    {"type": "hybrid-9-ec", "generators": "complete", "memory": 3, "numbering": "paper"},
    {"type": "binary-ec", "generators": "complete", "memory": 10, "hidden_layer": 7},
]
MIXED_COMPLETE = [{**spec, "mixtures": 3} for spec in COMPLETE[1:3]]
OTHER_CODES_COMPLETE = [{**spec, "code": code} for spec in COMPLETE[::2] for code in ("random", "huffman")]


def shelves(**options):
    """Few words a shelf, so that there are several in a small vocabulary."""
    return {"type": "shelves", "code": "frequency", "words": 4, "visit": 3, "memory": 3, **options}


SHELVES = [
    shelves(),
    shelves(visit=1, code="random"),
    shelves(words=2, visit=5, code="random", seed=3),
    shelves(words=16, visit=2, shelf_weight=0.5),
    shelves(words=8, visit=99, memory=8, shelf_weight=0.0),
    shelves(words=4096),
    shelves(visit=1, code="random", shelf_weight=0.5),
]
HIERARCHICAL = [{"type": "hierarchical", "code": code} for code in ("huffman", "frequency", "random")]
ADAPTIVE = [{"type": "adaptive", "div_value": 2.0}, {"type": "adaptive", "cutoffs": [1], "div_value": 1.5}]
DIFFERENTIATED = ["differentiated", {"type": "differentiated", "cutoffs": [1], "units": [4, 2]}]
FREE = ["free", {"type": "free", "bits": 8}]
RIVALS = [*HIERARCHICAL, *ADAPTIVE, *DIFFERENTIATED, *FREE]


def name_of(spec):
    return spec if isinstance(spec, str) else " ".join(map(str, spec.values()))


def with_options(spec, **options):
    return {**({"type": spec} if isinstance(spec, str) else spec), **options}


def with_bits_options(spec, **options):
    """Heads without bits, which have no such options, as they are."""
    return with_options(spec, **options) if with_options(spec)["type"].startswith(("binary", "hybrid")) else spec


def families(vocab):
    """A head of every family that fits the vocabulary, those without bits first."""
    frequent = min(9, vocab - 1)
    hybrids = [f"hybrid-{frequent}", f"hybrid-{frequent}-ec"] if frequent >= 2 else []
    shelves = [*SHELVES[:3], *([SHELVES[-2]] if vocab > 10 else [])]
    rivals = [*HIERARCHICAL[::2], ADAPTIVE[0], DIFFERENTIATED[0], FREE[1]]
    return ["softmax", TIED, *shelves, *rivals, "binary", "binary-ec", *hybrids]


class Counted:
    """A vocabulary with counts, as far as a head looks at one."""

    def __init__(self, counts):
        self.counts = counts

    def __len__(self):
        return len(self.counts)


def random_head(spec, vocab, scale=1.0, dtype=torch.float64):
    """A head with weights large enough that its words differ; of a tied one, also the word vectors."""
    embedding = nn.Embedding(vocab, VECTOR)
    counted = Counted(10_000 // np.arange(1, vocab + 1))
    head = build_head(spec, hidden_size=H, vocab=counted, embedding=embedding)
    if head.spec.uses_embedding:
        head.owned = embedding  # in place of a decoder
    head = head.to(dtype)
    generator = torch.Generator().manual_seed(vocab)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * scale)
    return head


def hidden_states(rows, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(rows, H)))


def log_softmax(scores):
    return scores - logsumexp(scores, axis=-1, keepdims=True)


def affine(layer, h):
    return h @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()


def tied_scores(words, vectors, h):
    """u(h) · E[w] + b_w, word by word. [T, V]"""
    weights = words.project.weight, vectors, words.bias
    project, vectors, bias = (weight.detach().double().numpy() for weight in weights)
    return np.array(
        [[project @ row @ vector + of_word for vector, of_word in zip(vectors, bias, strict=True)] for row in h]
    )


def code_word(number, num_bits, error_correcting, memory=None):
    """Algorithm 1, and Algorithm 2 as a product of polynomials modulo 2.

    Of a complete trellis: a place for every state, the earlier bits, oldest first; 1 if the next bit is.
    """
    bits = [number // 2**place % 2 for place in range(num_bits)]
    if not error_correcting:
        return np.array(bits)
    if memory is not None:
        earlier = [bits[max(0, place - memory) : place] for place in range(num_bits)]
        windows = [np.eye(2 ** len(some))[int("0" + "".join(map(str, some)), 2)] for some in earlier]
        return np.concatenate([bit * window for bit, window in zip(bits, windows, strict=True)])
    generators = [1, 1, 1, 1, 0, 0, 1], [1, 0, 1, 1, 0, 1, 1]  # newest bit first
    return np.stack([np.convolve(bits, generator) % 2 for generator in generators], -1).ravel()


@cache
def code_words(num_bits, error_correcting, memory=None):
    """[2^B, L]"""
    return np.array([code_word(number, num_bits, error_correcting, memory) for number in range(2**num_bits)])


def shelf_log_probs(head, spec, h):
    """log P of all words, from the definition, a row after the other, log P of the shelf of each, and the means of both
    that label smoothing takes: of the words on visited shelves, and of all shelves. [T, V] twice, [T] twice"""
    vocab = head.vocab_size
    num_bits = max(1, int(np.ceil(np.log2(vocab))) - int(np.log2(spec["words"])))
    shelf_of = head.code.numbers(np.arange(vocab)) % 2**num_bits
    log_shelves = log_softmax(affine(head.shelves, h) @ code_words(num_bits, True, spec["memory"]).T)  # [T, S]
    scores, found = tied_scores(head.words, head.owned.weight, h), np.full((len(h), vocab), np.nan)
    mean_of_visited = np.zeros(len(h))
    for row in range(len(h)):
        best = np.argsort(-log_shelves[row], kind="stable")[: spec["visit"]]
        for part in [best, *([shelf] for shelf in range(2**num_bits) if shelf not in best)]:
            words = np.isin(shelf_of, part)
            found[row, words] = logsumexp(log_shelves[row, part]) + log_softmax(scores[row, words])
        mean_of_visited[row] = found[row, np.isin(shelf_of, best)].mean()
    return found, log_shelves[:, shelf_of], mean_of_visited, log_shelves.mean(-1)


def tree_log_probs(head, h):
    """log P of all words: words are parted bit by bit, and where a bit parts some, there is the next node. [T, V]"""
    logits, bits = affine(head.nodes, h), head.code.bits(np.arange(head.vocab_size))
    found, node, level = np.zeros((len(h), head.vocab_size)), 0, [(np.arange(head.vocab_size), 0)]
    while level:
        following = []
        for words, place in level:
            while len(words) > 1 and len(set(bits[words, place])) == 1:
                place += 1
            if len(words) == 1:
                continue
            for bit in (0, 1):
                part = words[bits[words, place] == bit]
                found[:, part] -= np.logaddexp(0, logits[:, node] * (1 - 2 * bit))[:, None]
                following.append((part, place + 1))
            node += 1
        level = following
    return found


def adaptive_log_probs(head, spec, h):
    """log P of all words: those of the first softmax, and of each tail behind its marker. [T, V]"""
    vocab, layer = head.vocab_size, head.layer
    cutoffs = spec.get("cutoffs") or sorted({vocab // part for part in (32, 8, 2)} - {0})[:2]  # H is 6
    first = log_softmax(affine(layer.head, h))
    parts = [first[:, : cutoffs[0]]]
    for tail, (begin, end) in enumerate(pairwise([*cutoffs, vocab])):
        narrow, words = (part.weight.detach().double().numpy() for part in layer.tail[tail])
        assert narrow.shape == (int(H / spec["div_value"] ** (tail + 1)), H)
        assert len(words) == end - begin
        parts.append(first[:, cutoffs[0] + tail, None] + log_softmax(h @ narrow.T @ words.T))
    return np.concatenate(parts, -1)


def differentiated_log_probs(head, h):
    """log P of all words by one matrix, which is 0 where a band does not read. [T, V]"""
    matrix, biases, word, unit = np.zeros((head.vocab_size, H)), [], 0, 0
    for band in head.bands:
        words, units = band.weight.shape
        matrix[word : word + words, unit : unit + units] = band.weight.detach().double().numpy()
        biases.append(band.bias.detach().double().numpy())
        word, unit = word + words, unit + units
    assert (word, unit) == matrix.shape
    return log_softmax(h @ matrix.T + np.concatenate(biases))


def free_log_probs(head, h):
    """log P of all words by the signs of their latents, word by word and bit by bit. [T, V]"""
    weights = head.linear.project.weight, head.linear.latent, head.linear.bias
    project, latent, bias = (weight.detach().double().numpy() for weight in weights)
    scores = np.zeros((len(h), head.vocab_size))
    for word in range(head.vocab_size):
        for bit, number in enumerate((h @ project.T / len(project) ** 0.5).T):
            scores[:, word] += number if latent[word, bit] >= 0 else -number
    return log_softmax(scores + bias)


class ByHand:
    """One head with the frequency code, one without bits with any, and hidden states h [T, H].

    Of V words those from `first_rare` on are spelt by bits: all of a binary head's, none of a softmax's.
    """

    def __init__(self, head, spec, h):
        spec = with_options(spec)
        family, *rest = spec["type"].split("-")
        self.vocab_size, self.spec, h = head.vocab_size, spec, h.detach().double().numpy()
        if family not in ("binary", "hybrid"):
            self.first_rare, self.log_shelves = self.vocab_size, 0
            if family == "adaptive":
                self.log_v = adaptive_log_probs(head, spec, h)
                return
            if family == "differentiated":
                self.log_v = differentiated_log_probs(head, h)
                return
            if family == "free":
                self.log_v = free_log_probs(head, h)
                return
            if family == "hierarchical":
                self.log_v = tree_log_probs(head, h)
                return
            if family == "shelves":
                self.log_v, self.log_shelves, *means = shelf_log_probs(head, spec, h)
                self.mean_loss = -means[0] - spec.get("shelf_weight", 1) * means[1]
                return
            is_tied = spec.get("tied")
            scores = tied_scores(head.linear, head.owned.weight, h) if is_tied else affine(head.linear, h)
            self.log_v = log_softmax(scores)  # [T, V]
            return
        if family == "hybrid":
            self.first_rare = int(rest[0]) - 1
            self.log_v = log_softmax(affine(head.softmax, h))  # [T, N], OTHER last
        else:
            self.first_rare = 0
            self.log_v = np.zeros((len(h), 1))
        mixtures, is_complete = spec.get("mixtures", 1), spec.get("generators") == "complete"
        as_paper = spec.get("loss") != "trellis" and mixtures == 1 and not is_complete
        numbering = spec.get("numbering", "paper" if as_paper else "rare")
        self.offset = self.first_rare if numbering == "rare" else 0
        num_bits = int(np.ceil(np.log2(self.vocab_size - self.offset)))
        memory = spec.get("memory", 8) if is_complete else None
        self.arrays = code_words(num_bits, rest[-1:] == ["ec"], memory)  # [2^B, L]
        self.words = self.arrays[np.arange(self.first_rare, self.vocab_size) - self.offset]  # [rare words, L]
        if spec.get("hidden_layer"):
            h = np.maximum(affine(head.bits.hidden, h), 0)
        self.logits = affine(head.bits.linear, h).reshape(len(h), mixtures, -1)  # [T, K, L]
        weights = affine(head.bits.weights, h) if mixtures > 1 else np.zeros((len(h), 1))
        self.joint = log_softmax(weights)[..., None] + log_softmax(self.logits @ self.words.T)  # [T, K, rare words]

    def log_probs(self):
        """[T, V]"""
        return self._tempered(1.0)

    def tempered_probs(self, temperature):
        """What `sample` draws from. [T, V]"""
        return np.exp(log_softmax(self._tempered(temperature)))

    def _tempered(self, temperature):
        """The log of the sum over the parts of P^(1 / temperature), of part and word together. [T, V]"""
        log_v = self.log_v / temperature
        if self.first_rare == self.vocab_size:
            return log_v
        return np.concatenate([log_v[:, :-1], log_v[:, -1:] + logsumexp(self.joint / temperature, axis=1)], -1)

    def losses(self):
        """The loss of every word as the target. [T, V]"""
        losses = self._losses_of_single_words()
        smoothing = self.spec.get("label_smoothing", 0)
        mean = self.mean_loss[:, None] if self.spec["type"] == "shelves" else losses.mean(-1, keepdims=True)
        return (1 - smoothing) * losses + smoothing * mean

    def _losses_of_single_words(self):
        softmax_loss = -self.spec.get("softmax_weight", 1) * self.log_v
        if self.first_rare == self.vocab_size:
            return softmax_loss - self.spec.get("shelf_weight", 1) * self.log_shelves
        log_q, log_not_q = -np.logaddexp(0, -self.logits), -np.logaddexp(0, self.logits)  # [T, K, L]
        is_single = self.logits.shape[1] == 1 and self.spec.get("generators") != "complete"
        default = "squared" if is_single else "trellis"
        loss = self.spec.get("loss", default)
        if loss == "squared":
            bits_loss = ((np.exp(log_q) - self.words) ** 2).sum(-1)
        elif loss == "cross_entropy":
            bits_loss = -np.where(self.words == 1, log_q, log_not_q).sum(-1)
        else:
            bits_loss = -logsumexp(self.joint, axis=1)
        rare_loss = softmax_loss[:, -1:] + self.spec.get("bits_weight", 1) * bits_loss
        return np.concatenate([softmax_loss[:, :-1], rare_loss], -1)

    def paper_word(self, row):
        """Softmax first; behind OTHER the best of all arrays, UNK if it is not a word's."""
        place = int(self.log_v[row].argmax())
        if place < self.log_v.shape[1] - 1 or self.first_rare == self.vocab_size:
            return place
        best = int((self.arrays @ self.logits[row, 0]).argmax())
        return best + self.offset if best + self.offset < self.vocab_size else UNK

    def reach_of_the_parts(self, k):
        """Whether a frequent word, or a rare one among the k best of any part. [T, V]"""
        order = np.argsort(-self.joint, axis=-1)[:, :, :k]
        reached = np.zeros((len(order), self.vocab_size), bool)
        reached[:, : self.first_rare] = True
        np.put_along_axis(reached, order.reshape(len(order), -1) + self.first_rare, True, -1)
        return reached


def enumerated_topk(log_probs, k):
    """The k best words by sorting all of them, padded with −1 and −inf. log_probs [T, V] -> [T, k] twice"""
    order = np.argsort(-log_probs, axis=-1)[:, :k]
    missing = ((0, 0), (0, k - order.shape[1]))
    best = np.take_along_axis(log_probs, order, -1)
    return np.pad(order, missing, constant_values=-1), np.pad(best, missing, constant_values=-np.inf)


def all_log_probs(head, h):
    """log_prob of every word for every row. [T, V]"""
    words = torch.arange(head.vocab_size)
    with torch.no_grad():
        rows = [[head.log_prob(row.expand(len(some), -1), some) for some in words.split(8192)] for row in h]
    return torch.stack([torch.cat(row) for row in rows]).numpy()


def spell(head, number, strength=8.0, frequent=None):
    """Make the head predict the array of `number` whatever h is, and OTHER or the word `frequent` in its softmax."""
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.zero_()
        bits = code_word(number, head.bits.code.num_bits, head.bits.ecc.memory > 0)
        head.bits.linear.bias.copy_(torch.from_numpy(2.0 * bits - 1) * strength)
        if hasattr(head, "softmax"):
            head.softmax.bias[head.first_rare if frequent is None else frequent] = 5
    return head
