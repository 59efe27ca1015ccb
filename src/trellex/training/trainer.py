"""The training loop."""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import astuple
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trellex.codes import Code
from trellex.evaluation.curve import Evaluation, averaged_test_bleu, best_evaluation
from trellex.locks import check_free, exclusive
from trellex.nmt.build import build_model
from trellex.nmt.word_codes import WordCodes
from trellex.temporaries import make_folder, sweep
from trellex.text.corpus import Corpus
from trellex.training import checkpoint
from trellex.training.ahead import ahead
from trellex.training.average import Average, average_best, drop_average, mark_standing
from trellex.training.board import Board
from trellex.training.display import Display
from trellex.training.feed import Batch, Feed
from trellex.training.interruption import Interruption
from trellex.training.meter import Meter, Totals
from trellex.training.metrics import append_metrics, drop_metrics
from trellex.training.moments import load_moments, moments_of
from trellex.training.origin import check_trained_by
from trellex.training.processes import Processes, training_device
from trellex.training.ranking import best_steps
from trellex.training.recipe import Recipe
from trellex.training.recorded_steps import RecordedSteps
from trellex.training.renumbering import TOKENS, numbered_bits, renumbered
from trellex.training.schedule import learning_rate
from trellex.training.text_codes import new_code, told
from trellex.training.validation import corpus_bleu
from trellex.training.word_codes import word_codes

REPORT_EVERY = 50  # batches between reports of the loss
AHEAD = 4  # batches that are prepared while the device works


class Trainer:
    """Trains what a recipe describes, from its newest checkpoint on if there is one.

    Everything random follows from the seed and the number of the step, and a checkpoint holds weights, optimiser and
    position, so a run that was interrupted anywhere ends with the same weights as one that was not.

    Attributes:
        feed: what it is trained on, batch by batch
        step: how many are done
        evaluations: all so far
        average: of the best checkpoints, once training has ended, if the recipe asks for it
    """

    def __init__(self, recipe: Recipe, display: Display) -> None:
        self.recipe, self.settings, self.display = recipe, recipe.training, display
        check_free(recipe.output)
        self.board = Board(recipe.output, self.settings.tensorboard)
        self.corpus = Corpus.open(recipe.data)
        self.processes = Processes.join(training_device(self.settings))
        if self.settings.threads:
            torch.set_num_threads(self.settings.threads)
        newest = self._newest()
        known = self.corpus, self.processes, display
        if newest is None:
            code = new_code(recipe.head, *known)
            of_words = word_codes(recipe, *known, code)
        else:
            code, of_words = self._codes_of(newest)
        torch.manual_seed(self.settings.seed)
        vocabularies = len(self.corpus.source_vocabulary), self.corpus.target_vocabulary
        self.model = build_model(recipe.model, recipe.head, *vocabularies, code, word_codes=of_words)
        if self.settings.renumber_every:
            numbered_bits(self.model.head)  # or this would be told hours later
        self.model.to(self.processes.device)
        on_gpu = self.processes.device.type == "cuda"
        rate = torch.tensor(0.0, device=self.processes.device) if on_gpu else 0.0  # a tensor is read anew when replayed
        self.optimizer = torch.optim.Adam(self.model.parameters(), rate, fused=on_gpu, capturable=on_gpu)
        is_recorded = on_gpu and self.processes.count == 1
        self._recorded = RecordedSteps(partial(self._update, self.model), self._largest) if is_recorded else None
        self.feed = Feed(self.corpus.split("train"), self.settings, self.processes, is_widened=is_recorded)
        self.meter = Meter(self.processes)
        self.step = 0
        self.evaluations: list[Evaluation] = []
        self.average: Average | None = None
        self._interruption = Interruption()

    @property
    def was_interrupted(self) -> bool:
        """Whether Ctrl-C or a polite kill ended it."""
        return self._interruption.came

    def run(self) -> list[Evaluation]:
        """Train until the steps are done, patience is out or Ctrl-C is pressed; returns all evaluations.

        Raises BlockingIOError if another process trains into the same folder, and ImportError before hours of training
        if a package is missing that validation needs.
        """
        self.corpus.manifest.settings.check_word_tokenizer()
        if not self.processes.is_first:
            return self._run()
        make_folder(self.recipe.output)
        with exclusive(self.recipe.output):
            sweep(self.recipe.output)
            return self._run()

    def _run(self) -> list[Evaluation]:
        self._resume()
        shared = self.processes.share(self.model)
        self.model.train()
        remaining = ahead(map(self.feed.prepared, self.feed.after(self.step)), AHEAD)
        with self._interruption, self.display, self.board, closing(remaining):
            self.display.start(self.step, self.settings.max_steps, self.evaluations)
            self.meter.go_on()
            while not self._is_done():
                if self._exchanges_numbers() and not self._renumber():
                    continue
                self.meter.add(*self._train_on(shared, next(remaining)))
                is_validated = self.step % self.settings.validate_every == 0
                if is_validated or self.step % REPORT_EVERY == 0:
                    self._report_meter()
                is_among_best = is_validated and self._validate()
                if is_validated:
                    self.meter.go_on()
                if is_among_best or self.step % self.settings.save_every == 0:
                    self._save()
                    self.meter.go_on()
            self._save()
            self.display.end(self.step)
        del shared
        self.processes.leave()
        if self.settings.average and self.processes.is_first and not self.was_interrupted:
            places = self.recipe.output, self.evaluations, self.settings.average
            self.average = average_best(*places, self.corpus, self.processes.device.type)
        return self.evaluations

    def train_on(self, rows: Any) -> None:
        """One step on these pairs alone, apart from any run: for those who measure it."""
        self._train_on(self.model, self.feed.prepared(rows))

    def _is_done(self) -> bool:
        out_of_patience = False
        if self.settings.patience and self.evaluations:
            since_best = len(self.evaluations) - 1 - self.evaluations.index(best_evaluation(self.evaluations))
            out_of_patience = since_best >= self.settings.patience
        return self.processes.any(self.was_interrupted or out_of_patience) or self.step >= self.settings.max_steps

    def _train_on(self, shared: torch.nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """One step on a global batch; returns this process's summed loss and the tokens of all."""
        self.step += 1
        torch.manual_seed((self.settings.seed * 1_000_003 + self.step) * self.processes.count + self.processes.rank)
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(self._learning_rate())
            else:
                group["lr"] = self._learning_rate()
        if self._recorded is not None:
            return self._recorded(*self._to_record(batch)), batch.tokens
        source, lengths, read, predict = self.feed.on_device(batch.ids)
        share = self.processes.count / batch.tokens
        return self._update(shared, source, lengths, read, predict, share), batch.tokens

    def _exchanges_numbers(self) -> bool:
        """Whether words do, before the next step: after the last was evaluated, for weights have yet to follow them."""
        every = self.settings.renumber_every
        return bool(every and self.step and self.step % every == 0)

    def _renumber(self) -> bool:
        """Let words exchange their numbers, by what the model says of some of the training text.

        False if it was interrupted meanwhile: the exchange is then left to whoever goes on from this step.
        """
        code = self.model.head.code
        assert code is not None  # or the recipe would have been refused
        if self._recorded is not None:
            self._recorded.forget()  # with where the old code's tables are; and an exchange needs room
        if self.processes.is_first:
            random = np.random.default_rng((self.settings.seed, self.step))
            rows = self.feed.some(self.step, TOKENS[self.processes.device.type])
            until_interrupted = partial(takewhile, lambda _: not self.was_interrupted)
            with self.display.doing("words exchange their numbers"):
                code, moved, gain = renumbered(
                    self.model, map(self.feed.tensors, rows), random, watched=until_interrupted
                )
        if self.processes.any(self.was_interrupted):
            return False
        if self.processes.is_first:
            self.display.tell(f"step {self.step:,}: {moved:,} words have other numbers, {gain:.3f} nats a token less")
        self.model.renumber(told(code, self.processes))
        return True

    def _to_record(self, batch: Batch) -> tuple[Tensor, ...]:
        """What a recorded step takes."""
        share = torch.full((), 1 / batch.tokens, device=self.processes.device)
        return *self.feed.on_device(batch.ids), share

    def _largest(self) -> tuple[Tensor, ...]:
        """What the largest recorded step takes."""
        return self._to_record(self.feed.prepared(self.feed.largest()))

    def _update(
        self,
        shared: torch.nn.Module,
        source: Tensor,
        lengths: Tensor,
        target_in: Tensor,
        target_out: Tensor,
        share: Tensor | float,
    ) -> Tensor:
        """Change the weights by a batch, whose tokens count `share` each; returns the summed loss."""
        self.optimizer.zero_grad(set_to_none=True)
        device = self.processes.device.type
        with torch.autocast(device, torch.bfloat16, enabled=self.settings.precision == "bfloat16"):
            loss = shared(source, lengths, target_in, target_out).sum()
        (loss * share).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm)
        self.optimizer.step()
        return loss.detach()

    def _learning_rate(self) -> float:
        return learning_rate(self.settings, self.step, self.evaluations)

    def _validate(self) -> bool:
        """Evaluate on dev and test; whether this is one of the best to keep. The first process tells the others."""
        started = time.perf_counter()
        with self.display.doing("translating dev and test"):
            scores = corpus_bleu(self.model, self.corpus) if self.processes.is_first else {}
        dev, test = self.processes.from_first([scores.get(name, math.nan) for name in ("dev", "test")])
        evaluation = Evaluation(self.step, dev, None if math.isnan(test) else test)
        self.evaluations.append(evaluation)
        self._report(
            dev_bleu=evaluation.dev,
            test_bleu=evaluation.test,
            averaged_test_bleu=averaged_test_bleu(self.evaluations),
            seconds=time.perf_counter() - started,
        )
        return self.step in best_steps(self.evaluations, self.settings.best_to_keep)

    def _report_meter(self) -> None:
        """Report the mean loss since the last report, and what it took."""
        totals = self.meter.totals()
        mean = totals.loss / totals.tokens
        if not math.isfinite(mean):
            raise self._diverged(f"the loss became {mean}")
        device = self.processes.device
        self._report(
            loss=mean,
            learning_rate=self._learning_rate(),
            tokens=totals.tokens,
            seconds=totals.seconds,
            tokens_per_second=totals.tokens / totals.seconds,
            peak_memory=torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None,
        )
        self.meter.restart()

    def _report(self, **values: Any) -> None:
        """Append to the metrics and show."""
        if not self.processes.is_first:
            return
        append_metrics(self.recipe.output, self.step, values)
        self.board.add(self.step, values)
        self.display.update(self.step, values)

    def _diverged(self, what: str) -> FloatingPointError:
        return FloatingPointError(
            f"{what} at step {self.step}; lower training.learning_rate, and the same command goes on from the newest "
            f"checkpoint in {self.recipe.output}"
        )

    def _save(self) -> None:
        """Write a checkpoint of this step, unless there is one. Weights that are lost never displace good ones."""
        totals = self.meter.totals()
        if not self.processes.is_first:
            return
        if not all(bool(parameter.isfinite().all()) for parameter in self.model.parameters()):
            raise self._diverged("a weight is no longer a finite number")
        if not math.isfinite(totals.loss):
            raise self._diverged(f"the loss became {totals.loss}")
        info = {
            "step": self.step,
            "evaluations": [astuple(evaluation) for evaluation in self.evaluations],
            "since_report": totals._asdict(),
            "recipe": self.recipe.model_dump(mode="json"),
            "corpus": self.corpus.manifest.settings.model_dump(mode="json"),
        }
        run = self.recipe.output
        copies = {name: self.recipe.data / name for name in self.corpus.manifest.settings.files()}
        tensors = {"model": self.model.state_dict(), "optimizer": moments_of(self.optimizer, self.model)}
        self.board.flush()
        codes = self.model.head.code, False, self.model.network.word_codes
        checkpoint.save_checkpoint(checkpoint.step_folder(run, self.step), tensors, copies, info, *codes)
        mark_standing(run, self.evaluations)
        best = best_steps(self.evaluations, self.settings.best_to_keep)
        checkpoint.remove_old(run, self.settings.keep_checkpoints, best)

    def _newest(self) -> Path | None:
        """The newest checkpoint as the first process, which has locked the folder, sees it."""
        newest = checkpoint.newest_checkpoint(self.recipe.output)
        (step,) = map(int, self.processes.from_first([-1 if newest is None else checkpoint.step_of(newest)]))
        return None if step < 0 else checkpoint.step_folder(self.recipe.output, step)

    def _codes_of(self, folder: Path) -> tuple[Code | None, WordCodes | None]:
        """The head's and the words' of a checkpoint, which must be one of this training."""
        check_trained_by(self.recipe, folder)
        source_size, target_size = len(self.corpus.source_vocabulary), len(self.corpus.target_vocabulary)
        return (
            checkpoint.load_code(folder, self.recipe.head, target_size),
            checkpoint.load_word_codes(folder, self.recipe.model, source_size, target_size),
        )

    def _resume(self) -> None:
        """Go on from the newest checkpoint, if there is one; metrics after it are dropped."""
        newest = self._newest()
        if newest is not None:
            info = checkpoint.load_info(newest)
            checkpoint.verify(newest, info)
            if self._codes_of(newest) != (self.model.head.code, self.model.network.word_codes):
                raise ValueError(f"{newest}: was written after this training had begun; give the same command again")
            self.model.load_state_dict(checkpoint.load_tensors(newest, "model", self.model.state_dict()))
            load_moments(self.optimizer, self.model, newest, info.step)
            self.step = info.step
            self.meter.restart(Totals(**info.since_report.model_dump()))
            self.evaluations = info.curve()
        if not self.processes.is_first:
            return
        drop_metrics(self.recipe.output, after=self.step)
        self.board.go_on(self.step)
        drop_average(self.recipe.output, after=self.step)
        mark_standing(self.recipe.output, self.evaluations)  # a kill may have come between a checkpoint and its mark
