"""Metrics for Prometheus, of one server: requests, sentences, batches and memory."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """What happened so far. Nothing of a text or a key is in it."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter("trellex_requests", "Requests answered.", ("path", "status"), registry=self._registry)
        self._seconds = Histogram(
            "trellex_request_seconds",
            "From the head of a request to its whole answer.",
            ("path",),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._dropped = Counter("trellex_requests_dropped", "Requests whose client went away.", registry=self._registry)
        self._characters = Counter("trellex_characters", "Characters to translate.", registry=self._registry)
        self._batches = Histogram(
            "trellex_batch_sentences",
            "Sentences that were translated side by side.",
            buckets=SENTENCES,
            registry=self._registry,
        )

    def watch_waiting(self, waiting: Callable[[], int]) -> None:
        """Tell how many sentences wait whenever metrics are asked for."""
        gauge = Gauge("trellex_waiting_sentences", "Sentences that wait to be translated.", registry=self._registry)
        gauge.set_function(waiting)

    def answered(self, path: str, status: int, seconds: float) -> None:
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def dropped(self) -> None:
        self._dropped.inc()

    def characters(self, count: int) -> None:
        self._characters.inc(count)

    def batch(self, sentences: int) -> None:
        self._batches.observe(sentences)

    def text(self) -> bytes:
        return generate_latest(self._registry)
