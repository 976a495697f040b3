# make run    a simulated table, dealt before your eyes; installs only what it needs
# make venv   .venv with everything: all extras and the development tools
# make run-camera   the same, read by a simulated camera, with its picture in a browser
# make test   every promise, in minutes; `make test-fast` the pure tests, in under a minute;
#             `make test-all` every promise at full volume
# make test-machine   the packages on a virtual machine: 20 to 40 minutes on two processors
# make test-trees    the packages on each distribution and processor; `make test-containers` the demo
#             of packaging/container
# make golden compare the output for fixed inputs; `make golden-write` writes the expected output
# make generate  all files that follow from a house, a wager, an irregularity, a message or a word
# make check  lint, format, types, and which room imports which
# make lock   requirements-dev.lock anew from pyproject.toml
# make wheel  dist/: the Python package alone
# make deb    dist/: the Debian packages, what a table's computer is given
# make release  dist/: wheel, packages, changes, audit and SHA256SUMS; dates the changelog and tags
#             the version of shoe_daemon/__init__.py; ARGS=--dry-run only writes dist/
# make bench  what it costs: speed, memory, start-up (docs/measure.md)
# make chaos  killed at any moment, at full length; `make soak`, `make fuzz`, `make mistakes`,
#             `make camera-shoes` likewise
# make clean  away with what the tools left behind (.venv stays; `make distclean` takes it too)

# Empty: the first that fits is taken. `make venv PYTHON=/usr/bin/python3` names one.
PYTHON ?=
BIN := .venv/bin
CODE := $(wildcard shoe_daemon drivers calibration bench examples tests tools)

.PHONY: venv run run-camera test test-fast test-all check generate wheel deb lock clean distclean
.DELETE_ON_ERROR:

# Bytecode is kept, whatever the shell says: the packages come without it, and the demo and the
# tests start many Python processes.
export PYTHONDONTWRITEBYTECODE =

venv: .venv/.stamp
	@:

.venv/.stamp: pyproject.toml requirements-dev.lock tools/prepare.py
	@python=$$(tools/find_python.sh $(PYTHON)) && $$python tools/prepare.py venv

.venv/.run: pyproject.toml requirements-run.lock tools/prepare.py
	@python=$$(tools/find_python.sh $(PYTHON)) && $$python tools/prepare.py run

run: .venv/.run
	@$(BIN)/shoe-daemon demo $(ARGS)

run-camera: venv
	@$(BIN)/shoe-daemon demo --camera $(ARGS)

# ARGS is passed to pytest: make test ARGS="-k tableau"; ARGS="-n 0" runs one test after another.
# Many tests wait for a process or a deadline: more workers than processors use that time.
WORKERS ?= $(shell echo $$(( 3 * $$(nproc) )))
PYTEST = $(BIN)/pytest -n $(WORKERS) --dist worksteal

# Each worker keeps to one thread.
test test-fast test-all: export OPENCV_FOR_THREADS_NUM = 1
test test-fast test-all: export OPENBLAS_NUM_THREADS = 1
# No process, no network, no picture.
FAST := tests/game tests/table tests/misdeals tests/golden tests/report tests/drivers/angel_eye_ii

test: venv
	@$(BIN)/python tools/prepare.py mosquitto postgres chromium $(MORE_PROGRAMS)
	$(PYTEST) $(ARGS)

# Pure tests wait for nothing.
test-fast: WORKERS = $(shell nproc)
test-fast: venv
	$(PYTEST) $(FAST) $(ARGS)

# A slow computer takes minutes for the largest volumes.
test-all: export TEST_VOLUME = full
test-all: export PYTEST_ADDOPTS = --timeout=900
test-all: MORE_PROGRAMS = node
test-all: test

# The packages on a virtual machine with Debian 12: installation, watchdog, USB, power cuts; and a
# real Home Assistant. Needs root and Debian; images are built once. Writes docs/machine.md.
.PHONY: test-machine
test-machine: export TEST_MACHINE = 1
test-machine: venv
	@$(BIN)/python tools/prepare.py mosquitto
	$(BIN)/pytest -v -s -n 4 --maxschedchunk=1 --timeout=3600 tests/machine \
	  tests/mqtt/test_real_home_assistant.py $(ARGS)

# The packages on each system and processor, in trees: up to an hour. Needs root and Debian; a
# system whose archive cannot be reached is skipped.
.PHONY: test-trees
test-trees: export TEST_TREES = 1
test-trees: venv
	$(BIN)/pytest -v -s -n 0 tests/packaging/test_trees.py $(ARGS)

# The demo of packaging/container, with podman: minutes. BASE=IMAGE names another base image.
.PHONY: test-containers
test-containers: export TEST_CONTAINERS = 1
test-containers: venv
	$(BIN)/pytest -v -s -n 0 tests/packaging/test_containers.py $(ARGS)

# The output for fixed logs, captures and journals, byte for byte: tests/golden/__init__.py.
.PHONY: golden golden-write
golden: venv
	$(BIN)/pytest -q tests/golden tests/drivers/test_captures.py $(ARGS)

golden-write: venv
	$(BIN)/pytest -q tests/drivers/test_captures.py --regen
	$(BIN)/pytest -q tests/golden/test_golden.py --regen
	@git status --short tests/golden/expected

check: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(CODE)
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python -m tools.check_imports
	$(BIN)/python -m tools.generate --check
	$(BIN)/python -m tools.generated_blocks --check

generate: venv # all that follows from a house, a wager, an irregularity, a message or a word
	@$(BIN)/python tools/prepare.py mosquitto
	$(BIN)/python -m tools.generate
	$(BIN)/python -m tools.generated_blocks
	$(BIN)/shoe-daemon schema --out docs/schema
	$(BIN)/python -m tests.mqtt.make_examples
	$(BIN)/python -m tests.misdeals.irregularity_logs
	@$(MAKE) --no-print-directory golden-write
	$(BIN)/python -m tools.make_fonts --missing
	@git status --short

wheel: venv
	$(BIN)/hatchling build -t wheel -d dist

deb: venv # reproducible: the same commit gives the same bytes
	@$(BIN)/python -m tools.build_deb dist

.PHONY: release
release: venv build/pip-audit/bin/pip-audit
	@$(BIN)/python -m tools.make_release $(ARGS)

# uv makes one lock for all Python versions at once. It is no tool of every day, so it gets
# an environment of its own. No index is named in the lock: where wheels come from is a
# matter of the machine, what they are is a matter of their hashes.
UV_COMPILE = build/uv/bin/uv --no-config pip compile --quiet --python-version 3.11 \
  --generate-hashes --no-header --no-emit-index-url --no-emit-find-links
# The Debian packages take the same versions; OpenCV without windows, which servers lack.
FOR_DEBIAN = --python-platform x86_64-manylinux_2_28 --constraint requirements-dev.lock
FOR_CAMERA = sed -n 's/^opencv-python==\([^ ;]*\).*/opencv-python-headless==\1/p; s/^\(av==[^\\]*\).*/\1/p' \
  requirements-dev.lock

lock: build/uv/bin/uv
	$(UV_COMPILE) --universal --extra camera --extra display --extra demo --extra pins --extra keys \
	  --extra metrics --extra notify --extra gpio --extra forward --group dev \
	  $(LOCKARGS) --output-file requirements-dev.lock pyproject.toml
	@sed -i '1i # Made by `make lock` from pyproject.toml; `make lock LOCKARGS=--upgrade` takes newer versions.' requirements-dev.lock
	$(UV_COMPILE) --universal --extra display --extra demo --extra pins --group build \
	  --constraint requirements-dev.lock --output-file requirements-run.lock pyproject.toml
	@sed -i '1i # Made by `make lock`: what `make run` needs.' requirements-run.lock
	$(UV_COMPILE) $(FOR_DEBIAN) --extra display --extra pins --extra keys --extra metrics --extra notify --extra gpio --extra forward \
	  --output-file packaging/requirements.lock pyproject.toml
	$(FOR_CAMERA) | $(UV_COMPILE) $(FOR_DEBIAN) --output-file packaging/requirements-camera.lock -
	@sed -i '1i # Made by `make lock`: the wheels in the Debian package.' packaging/requirements*.lock

build/uv/bin/uv:
	@python=$$(tools/find_python.sh $(PYTHON)) && $$python -m venv build/uv
	@build/uv/bin/pip --disable-pip-version-check install --quiet uv

# Without it the release says that it was not audited.
build/pip-audit/bin/pip-audit:
	@python=$$(tools/find_python.sh $(PYTHON)) && $$python -m venv build/pip-audit
	-@build/pip-audit/bin/pip --disable-pip-version-check install --quiet pip-audit

# The same tests as always at full length; figures are printed.
.PHONY: chaos soak fuzz bench
chaos: venv # kill -9 200 times of the daemon in either mode, 50 of the broker; faults of 20 seeds
	@$(BIN)/python tools/prepare.py mosquitto
	CHAOS_KILLS=200 CHAOS_BROKER_KILLS=50 CHAOS_SEEDS=20 $(BIN)/pytest -s \
	  tests/chaos/test_kills.py tests/chaos/test_faults.py $(ARGS)

SECONDS ?= 28800
soak: venv # a month of a table in eight hours, or in SECONDS=…
	@$(BIN)/python tools/prepare.py mosquitto
	SOAK_SECONDS=$(SECONDS) SOAK_SPEED=100 $(BIN)/pytest -s tests/chaos/test_soak.py $(ARGS)

# SECONDS is for each parser; new inputs are added to tests/fuzz/corpus.
fuzz: SECONDS = 60
fuzz: venv # other bytes and observations every time; FUZZ_SEED=… repeats what it printed
	@$(BIN)/python tools/prepare.py mosquitto
	@seed=$${FUZZ_SEED:-$$(date +%s)}; echo "FUZZ_SEED=$$seed"; \
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $$seed && \
	FUZZ_BYTES=20000000 FUZZ_SEED=$$seed $(BIN)/pytest \
	  tests/chaos/test_fuzz.py tests/drivers tests/table $(ARGS)

LOGS ?= 100000
.PHONY: mistakes
mistakes: venv # so many logs with one mistake each, and with random commands, against a model
	@seed=$${MISTAKE_SEED:-$$(date +%s)}; echo "MISTAKE_SEED=$$seed"; \
	MISTAKE_LOGS=$(LOGS) MISTAKE_SEED=$$seed $(BIN)/pytest -s --timeout=0 \
	  tests/table/test_one_mistake.py tests/table/test_random_commands.py \
	  tests/table/test_clean_logs.py tests/table/test_hidden_faces.py $(ARGS)

bench: venv # docs/measure.md says what the figures mean
	@$(BIN)/python tools/prepare.py mosquitto chromium
	$(BIN)/python -m bench.card_latency
	$(BIN)/python -m bench.alarm_latency
	$(BIN)/python -m bench.lamp_latency
	$(BIN)/python -m bench.start
	$(BIN)/python -m bench.journal_append
	$(BIN)/python -m bench.rounds_per_second
	$(BIN)/python -m bench.decoders
	$(BIN)/python -m bench.fault_detection
	$(BIN)/python -m bench.camera
	$(BIN)/python -m bench.vision.streams
	$(BIN)/python -m bench.display_all_measurements

SHOES ?= 200
.PHONY: camera-shoes
SHARE ?= 1/1
PLAYED ?= build/camera-shoes.jsonl
camera-shoes: venv # hours: simulated shoes through camera, daemon and broker; goes on where it was
	@$(BIN)/python tools/prepare.py mosquitto
	@mkdir -p $(dir $(PLAYED))
	@wrong=0; for station in overhead throat; do \
	  OMP_NUM_THREADS=1 $(BIN)/python -m bench.vision.shoes --station $$station --shoes $(SHOES) \
	    --share $(SHARE) --out $(PLAYED) $(ARGS) || wrong=1; done; exit $$wrong

.PHONY: pictures
pictures: venv # the documents' pictures of the demo, of boards in a terminal and of cameras, drawn anew
	$(BIN)/python -m tools.make_terminal_pictures
	$(BIN)/python -m tools.make_camera_pictures

.PHONY: screenshots
screenshots: venv # docs/pictures: the board at four sizes, and the pit
	@$(BIN)/python tools/prepare.py mosquitto chromium
	$(BIN)/python -m tools.make_screenshots

.PHONY: fonts
fonts: venv # what the pages say in Chinese, anew: after any change of a language's file
	$(BIN)/python -m tools.make_fonts

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv
