"""One word's way through Trellex: id, bits, redundant bits, noise, and back, with exact probabilities."""

import numpy as np

from trellex.codes import FrequencyCode
from trellex.trellis import ConvolutionalCode

VOCAB_SIZE, WORD = 50_000, 1234

code = FrequencyCode(VOCAB_SIZE)
ecc = ConvolutionalCode()


def show(bits: np.ndarray) -> str:
    return "".join(map(str, bits))


bits = code.bits(WORD)
redundant = ecc.encode(bits)
distance = ecc.minimum_distance(code.num_bits)
print(f"vocabulary            {VOCAB_SIZE:,} words, {code.num_bits} bits each, {len(redundant)} with redundancy")
print(f"word                  {WORD}")
print(f"bits                  {show(bits)}   (lowest first)")
print(f"redundant bits        {show(redundant)}")
print(f"minimum distance      {distance}: any {(distance - 1) // 2} wrong bits are corrected")

rng = np.random.default_rng(5)
wrong = rng.choice(len(redundant), 4, replace=False)
received = redundant.copy()
received[wrong] ^= 1
print(f"\n4 bits flipped        {show(received)}")
print(f"Viterbi decodes       word {code.ids(ecc.decode(received))}")

logits = 1.5 * (2 * redundant - 1) + rng.normal(size=len(redundant)) * 1.5
log_partition = ecc.log_partition(logits, size=VOCAB_SIZE)
print(f"\nnoisy logits instead: {int(((logits > 0) != redundant).sum())} of {len(redundant)} bits point the wrong way")
print(f"the 5 best of all {VOCAB_SIZE:,} words, with exact probabilities, from {2 * (code.num_bits + 6)} numbers:")
for word, score in zip(*ecc.topk(logits, 5, size=VOCAB_SIZE), strict=True):
    print(f"  word {word:6d}   P = {np.exp(score - log_partition):.4f}{'   ← it was this one' if word == WORD else ''}")
draws = ecc.sample(np.broadcast_to(logits, (10_000, len(logits))), size=VOCAB_SIZE, generator=0)
print(f"of 10,000 exact samples {np.mean(draws == WORD):.1%} are word {WORD}")
