# `make demo` and `make test` need nothing but Python 3.11 or newer; they set up everything else themselves.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: help demo demo-train word test chromium screenshots test-slow test-docs test-api test-wheel test-oldest lint types unit picture
.PHONY: soak fuzz bench-trellis bench-heads bench-gpu bench-sampling bench-cpu bench-bulk bench-pruning bench-startup bench-serve bench-models bench-training clean

help:  ## show what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-15s %s\n", $$1, $$2}'

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[train,ja,pieces,serve,parquet,ray,dev,bench]'
	touch $@

demo: $(READY)  ## translate ten sentences by a model of the package, and compare methods on this CPU: within a minute
	@OMP_NUM_THREADS=1 $(BIN)/python examples/ten_sentences.py
	@OMP_NUM_THREADS=1 $(BIN)/python benchmarks/cpu/minute.py

demo-train: $(READY)  ## train two systems on the embedded phrasebook, translate and compare
	$(BIN)/python examples/phrasebook.py

word: $(READY)  ## walk one word through code and trellis
	$(BIN)/python examples/one_word.py

test: $(READY)  ## everything that must be green
	@echo "linter, layers, types and tests: some 12 minutes on 2 cores, 20 on slow ones"
	@begin=$$(date +%s); $(MAKE) --no-print-directory chromium lint types unit && \
	  echo "all green after $$((($$(date +%s) - begin) / 60)) min $$((($$(date +%s) - begin) % 60)) s"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: $(READY)
	$(BIN)/mypy

unit: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

APT := apt-get install --yes --quiet --no-install-recommends
chromium:  ## the browser that tests the server's page, by apt-get where there is none; TRELLEX_NO_BROWSER=1 does without
	@[ "$$TRELLEX_NO_BROWSER" != 1 ] || exit 0; \
	for name in chromium chromium-browser google-chrome; do command -v $$name > /dev/null && exit 0; done; \
	if ! command -v apt-get > /dev/null; then problem="there is no apt-get"; \
	elif [ "$$(id -u)" = 0 ]; then apt-get update --quiet && $(APT) chromium && exit 0; problem="apt-get failed"; \
	elif sudo -n true 2> /dev/null; then sudo apt-get update --quiet && sudo $(APT) chromium && exit 0; problem="apt-get failed"; \
	else problem="only root may install it"; fi; \
	echo "error: no browser to test the page with, and $$problem; install Chromium, as by \`sudo apt-get install chromium\`," \
	  "or set TRELLEX_NO_BROWSER=1 to leave its tests out" >&2; exit 1

screenshots: $(READY) chromium  ## the pictures of the server's page in docs/pictures
	@[ -n "$$(fc-list :lang=ja)" ] || { echo "error: no font has Japanese letters; apt-get install fonts-noto-cjk" >&2; exit 1; }
	TRELLEX_PICTURES=docs/pictures $(BIN)/python -m pytest tests/integration/test_web_page.py -k pictures

test-slow: $(READY)  ## the longer trainings
	$(BIN)/python -m pytest -m slow

test-docs: $(READY)  ## every command of the documentation, in clean folders, with tiny corpora and few steps
	$(BIN)/python -m pytest -m docs tests/documentation

API    ?= 5
test-api: $(READY)  ## requests drawn from the server's own description, for API=5 minutes: none may fail
	API_MINUTES=$(API) $(BIN)/python -m pytest -m slow tests/integration/test_serve_description.py

test-wheel: $(READY)  ## the wheel without extras, for the Pythons that are here, as another user with a read-only home
	$(BIN)/python tests/wheel.py

OLDEST ?= build/oldest
test-oldest:  ## the tests of what needs torch, with the oldest torch that pyproject.toml allows (downloads gigabytes)
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check 'torch==2.6.*' '.[train,tensorboard]' pytest hypothesis scipy
	$(OLDEST)/bin/python -m pytest tests/unit/heads tests/unit/nmt tests/unit/training tests/unit/search tests/unit/runtime

SOAK   ?= 5
soak: $(READY)  ## kill commands again and again and compare what they leave; SOAK=60 for an hour
	OMP_NUM_THREADS=1 $(BIN)/python tests/attack/soak --minutes $(SOAK)

FUZZ   ?= 5
FUZZ_TARGET ?=
FUZZ_SEED ?=
fuzz: $(READY)  ## damaged files and folders to every reader, for FUZZ=5 minutes; FUZZ_TARGET=export for one alone
	@$(BIN)/python -c 'import atheris' 2>/dev/null || \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[fuzz]' || \
	  echo "atheris does not install here, so inputs are drawn by chance alone"
	OMP_NUM_THREADS=1 $(BIN)/python tests/attack/fuzz.py --minutes $(FUZZ) $(FUZZ_TARGET:%=--target %) $(FUZZ_SEED:%=--seed %)

bench-trellis: $(READY)  ## time of the trellis algorithms, CPU and GPU
	$(BIN)/python benchmarks/trellis.py

bench-heads: $(READY)  ## time and memory of the output layers against the size of the vocabulary
	$(BIN)/python benchmarks/heads.py

bench-gpu: $(READY)  ## decoding and training on a GPU against the size of the vocabulary, with rivals that save memory
	$(BIN)/python benchmarks/gpu.py

PLOT   ?= build/sampling.svg
bench-sampling: $(READY)  ## how near a softmax that is trained by drawn words comes to a full one; draws PLOT=build/sampling.svg
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/sampling.py --plot $(PLOT)

MODEL  ?= tests/models/export
bench-startup: $(READY)  ## how long a command takes to its first translation, with checksums and without; MODEL is an export
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/startup.py $(MODEL)

bench-cpu: $(READY)  ## speed and memory of exported models on one CPU thread; draws build/cpu.png
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/cpu --plot build/cpu.png --json build/cpu.json

SWEEP  ?= docs/measurements/cpu.json
picture: $(READY)  ## draw the README's picture; SWEEP=build/cpu.json draws what `make bench-cpu` found here
	$(BIN)/python benchmarks/cpu/picture.py $(SWEEP) docs/measurements/cpu.svg

bench-bulk: $(READY)  ## lines a second of `trellex translate --shard`, by processes and by Ray
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/bulk.py

bench-pruning: $(READY)  ## what a hybrid gains by looking at few of its frequent words, on CPUs with AVX-512 VNNI
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/cpu/pruning.py

bench-serve: $(READY)  ## a server under the load of 200 clients, with batches and without
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/serve.py --json build/serve.json

TEXT   ?= everyday/text
bench-models: $(READY)  ## BLEU and speed of the models of the package; TEXT is made by examples/everyday_text.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/models.py $(TEXT)

DATA   ?= kftt/en-ja
bench-training: $(READY)  ## speed of training steps; DATA is a prepared corpus
	$(BIN)/python benchmarks/training.py $(DATA) --batch-tokens 8192 --batch-tokens 16384

clean:  ## remove the environment and caches
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .schemathesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
