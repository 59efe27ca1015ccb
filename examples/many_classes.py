"""200,000 classes: what a softmax costs on this machine, and what a code costs instead."""

import statistics
import time

import torch

from trellex.heads import build_head

CLASSES, HIDDEN, ROWS = 200_000, 512, 32
torch.set_num_threads(1)
h, target = torch.randn(ROWS, HIDDEN), torch.randint(CLASSES, (ROWS,))
softmax = build_head("softmax", hidden_size=HIDDEN, vocab=CLASSES)
code = build_head({"type": "binary-ec", "loss": "trellis"}, hidden_size=HIDDEN, vocab=CLASSES)


def train(head):
    head.loss(h, target).mean().backward()  # −log P(target), normalised over all classes


def predict(head):
    head.topk(h, 5)  # the 5 most probable classes, with their log-probabilities


for job in (train, predict):
    milliseconds = {softmax: [], code: []}
    for _ in range(6):
        for head, times in milliseconds.items():
            begin = time.perf_counter()
            job(head)
            times.append(1e3 * (time.perf_counter() - begin))
    slow, fast = (statistics.median(times[1:]) for times in milliseconds.values())  # the first compiles
    print(f"{job.__name__:8} softmax {slow:6.1f} ms   code {fast:5.2f} ms   {slow / fast:.0f} times as fast")
sizes = [head.cost().parameters for head in (softmax, code)]
print(f"numbers  softmax {sizes[0]:,}   code {sizes[1]:,}   1/{sizes[0] / sizes[1]:,.0f}")
