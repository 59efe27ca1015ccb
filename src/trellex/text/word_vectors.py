"""Word vectors from the words' neighbours in a text, for codes by clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trellex.text.chunks import chunks
from trellex.text.parallel import Ids
from trellex.text.vocabulary import BOS, EOS

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WEIGHTS = (1.0, 0.5)  # of neighbours by their distance
CONTEXTS = 8192  # words that count as neighbours, the most frequent
SMOOTHING = 0.75  # of how frequent a neighbour is: rare ones surprise less than they seem to
SPARE = 10  # dimensions beyond those asked for, which makes these exact
ROUNDS = 4  # of subspace iteration

Floats = NDArray[np.float32]


def word_vectors(ids: NDArray[Any], lengths: Ids, vocab_size: int, dimensions: int = 64) -> Floats:
    """Vectors of length 1, near each other for words with like neighbours; 0 for words without any. -> [V, D]

    They are the positive pointwise mutual information of words and the neighbours in their sentences, reduced by a
    truncated SVD. BOS and EOS are neighbours, too. The same text gives the same vectors.

    Args:
        ids: of the words of all sentences, one sentence after another  [tokens]
        lengths: of the sentences  [N]
        vocab_size: V
        dimensions: D; vectors of fewer words than that are filled up with zeros
    """
    return _reduced(_ppmi(_neighbours(ids, lengths, vocab_size)), dimensions)


def _neighbours(ids: NDArray[Any], lengths: Ids, vocab_size: int) -> csr_matrix:
    """How often words have each frequent word beside them, by weight. -> [V, contexts]"""
    try:
        from scipy.sparse import coo_matrix, csr_matrix
    except ImportError as error:
        raise ImportError(f"word vectors: scipy is missing ({error}); pip install 'trellex[train]'") from error

    frequencies = np.bincount(ids, minlength=vocab_size)
    frequencies[[BOS, EOS]] += len(lengths)
    contexts = np.argsort(-frequencies, kind="stable")[:CONTEXTS]
    place_of = np.full(vocab_size, -1, np.int32)
    place_of[contexts] = np.arange(len(contexts), dtype=np.int32)
    shape = vocab_size, len(contexts)
    counts = csr_matrix(shape, dtype=np.float32)
    for words, sentences in chunks(ids, lengths):
        for distance, weight in enumerate(WEIGHTS, start=1):
            together = sentences[distance:] == sentences[:-distance]
            left, right = words[:-distance][together], words[distance:][together]
            for word, neighbour in ((left, right), (right, left)):
                places = place_of[neighbour]
                known = places >= 0
                weights = np.full(int(known.sum()), weight, np.float32)
                counts = counts + coo_matrix((weights, (word[known], places[known])), shape).tocsr()
    return counts


def _ppmi(counts: csr_matrix) -> csr_matrix:
    """log P(w, c) / (P(w) P(c)), where it is positive, with P(c) smoothed; in place of the counts."""
    of_words = np.asarray(counts.sum(1), np.float64).ravel()
    of_contexts = np.asarray(counts.sum(0), np.float64).ravel() ** SMOOTHING
    expected = of_contexts / max(of_contexts.sum(), 1)
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    information = np.log(counts.data / (of_words[rows] * expected[counts.indices]))
    counts.data = np.maximum(information, 0).astype(np.float32)
    counts.eliminate_zeros()
    return counts


def _reduced(matrix: csr_matrix, dimensions: int) -> Floats:
    """U √S of the largest singular values, rows of length 1, by randomised subspace iteration. [V, C] -> [V, D]"""
    size = min(dimensions + SPARE, *matrix.shape)
    basis = np.random.default_rng(0).standard_normal((matrix.shape[1], size), np.float32)
    transposed = matrix.T.tocsr()
    for _ in range(ROUNDS):
        basis = np.linalg.qr(transposed @ (matrix @ basis))[0]
    projected = matrix @ basis
    squares, turn = np.linalg.eigh(projected.T.astype(np.float64) @ projected)
    kept = min(dimensions, int((squares > squares[-1] * 1e-9).sum()))
    scale = squares[::-1][:kept] ** -0.25
    vectors = np.zeros((matrix.shape[0], dimensions), np.float32)
    vectors[:, :kept] = projected @ (turn[:, ::-1][:, :kept] * scale).astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=vectors, where=lengths > 0)
