"""A code head on a plain PyTorch model: a word-level LSTM language model of the phrasebook's English."""

from collections import Counter

import torch
from rich.console import Console
from rich.progress import track
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from trellex import phrasebook
from trellex.heads import build_head
from trellex.text import BOS, EOS, Vocabulary

torch.set_num_threads(1)  # as fast as more, for a model this small
torch.manual_seed(0)
text = {split: [english.split() for english, _ in pairs] for split, pairs in phrasebook.splits().items()}
vocabulary = Vocabulary.from_counts(Counter(word for sentence in text["train"] for word in sentence))

embedding, lstm = nn.Embedding(len(vocabulary), 128), nn.LSTM(128, 128, batch_first=True)
spec = {"type": "hybrid-64-ec", "loss": "trellis", "mixtures": 4, "reduction": "mean"}  # the loss is −log P
head = build_head(spec, hidden_size=128, vocab=vocabulary)


def batch(sentences):  # -> inputs and targets [sentences, words]; targets of −100 cost nothing
    ids = [torch.tensor([BOS, *vocabulary.ids(sentence), EOS]) for sentence in sentences]
    padded = pad_sequence(ids, batch_first=True, padding_value=-100)
    return padded[:, :-1].clamp(min=0), padded[:, 1:]


def hidden(words):  # [sentences, words] -> [sentences, words, 128]
    return lstm(embedding(words))[0]


optimizer = torch.optim.Adam([*embedding.parameters(), *lstm.parameters(), *head.parameters()], lr=0.008)
batches = DataLoader(text["train"], batch_size=64, shuffle=True, collate_fn=batch)
for epoch in ("epoch 1", "epoch 2"):
    for inputs, targets in track(batches, epoch, console=Console(stderr=True)):
        optimizer.zero_grad()
        head(hidden(inputs), targets).backward()
        optimizer.step()

with torch.no_grad():
    inputs, targets = batch(text["test"])
    print(f"{len(vocabulary)} words, {head.cost().outputs} outputs")
    print(f"perplexity {head(hidden(inputs), targets).exp():.2f}")

    sentence = [BOS, *vocabulary.ids(["the", "train", "from", "tokyo", "to"])]
    words, log_probs = head.topk(hidden(torch.tensor([sentence]))[0, -1], 5)
    print({word: round(p, 3) for word, p in zip(vocabulary.tokens(words), log_probs.exp().tolist(), strict=True)})
    while sentence[-1] != EOS:
        sentence += head.sample(hidden(torch.tensor([sentence]))[:, -1], temperature=0.5).tolist()
    print(*vocabulary.tokens(sentence[1:-1]))
