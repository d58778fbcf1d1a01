# Two commands for a newcomer: `make demo` and `make test`. `make all` is what a change has to pass.
PYTHON ?= python3
JOBS ?= 2
VENV := .venv
CLIENTS := .venv-clients
SERVING := .venv-serving
RAY := .venv-ray
SPARK := .venv-spark
ZOO := .venv-zoo
DECODERS := .venv-decoders
NEXT := .venv-next
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
STAMP := $(VENV)/.ready
LOCK := requirements-dev.lock
PIP := $(BIN)/python -m pip
FAST := -m 'not slow and not fuzz and not conformance' --ignore=tests/conformance --ignore=tests/compile --ignore=tests/ops --ignore=tests/runtime
PYTEST := $(BIN)/python -m pytest -q -p progress -n $(JOBS) --dist worksteal --durations=10 --durations-min=1
# CI sets AGAIN: a few tests that fail beside others are run again, alone (tests/unstable.py).
ALONE := -p unstable --last-failed --last-failed-no-failures none
tested = $(1) $(if $(AGAIN),|| { [ $$? -eq 1 ] && PYTHONPATH=tests $(1) $(ALONE) $(2); })
FACTOR ?= 10
T ?= tests
SHARE ?= $(if $(filter tests,$(T)),rotating,all)

.DEFAULT_GOAL := help
.PHONY: help demo test all format lint types tests test-fast test-without-llvmlite test-clients test-serve test-ray test-spark test-zoo test-decoders emulators test-emulators next fuzz fuzz-sample coverage regen generated kernels wheel \
	viewer test-viewer docs conversions bench lock hooks clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 24

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml $(LOCK) | $(BIN)/python
	$(PIP) install -qq 'pip==26.3'
	$(PIP) install -qq --constraint $(LOCK) --editable .
	@touch $@

$(STAMP): $(INSTALLED)
	$(PIP) install -qq --constraint $(LOCK) --group dev
	@touch $@

demo: $(INSTALLED)  ## install, then train a classifier of handwritten digits and run it
	@$(BIN)/python examples/digits/demo.py

test: all  ## what a change has to pass; CI runs more (.ci/run)

all: lint types generated tests  ## format check, lint, types, generated files, tests

format: $(STAMP)  ## rewrite the sources in the house format, and wrap the pages of docs
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python tools/wrap_prose.py README.md $$(git ls-files 'docs/*.md' ':!docs/generated')

lint: $(STAMP)  ## format check and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)  ## mypy, strict
	$(BIN)/mypy

tests: $(STAMP)  ## the test suite; T=path selects a part; SHARE=rest: what it leaves out for this version of the sources
	SARDONYX_SHARE=$(SHARE) $(PYTEST) $(T) $(if $(AGAIN),|| { [ $$? -eq 1 ] && $(BIN)/python -m pytest -q $(ALONE) $(T); })

test-fast: $(STAMP)  ## all but kernels, operators and sessions, in a minute
	$(PYTEST) $(FAST) $(T)

test-without-llvmlite: $(STAMP)  ## import, load, check and run in a process that has no llvmlite
	$(BIN)/python -m pytest -q tests/runtime/test_without_llvmlite.py

# An environment of its own: the clients pin what they import, and bring hundreds of megabytes.
test-clients:  ## clients of onnxruntime that others wrote, on Sardonyx in its place
	$(PYTHON) -m venv $(CLIENTS)
	$(CLIENTS)/bin/python -m pip install -qq --no-deps --requirement clients/requirements.txt --editable .
	$(call tested,$(CLIENTS)/bin/python -m pytest -q -s -c clients/pytest.ini --ignore clients/serving --ignore clients/model_zoo --ignore clients/decoders --ignore clients/emulators --ignore-glob 'clients/*_on_*' clients)

test-serve:  ## services with clients that others wrote, a collector of traces, the Dockerfile's commands, data frames, and the tutorial of scoring and serving
	$(PYTHON) -m venv $(SERVING)
	$(SERVING)/bin/python -m pip install -qq --requirement clients/serving/requirements.txt --editable '.[generate,score,serve,otel]'
	$(call tested,$(SERVING)/bin/python -m pytest -q -c clients/pytest.ini clients/serving)

test-ray:  ## scoring on a cluster of Ray, two nodes on this machine, and a deployment on Ray Serve
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python -m pip install -qq --requirement clients/scoring_on_ray/requirements.txt --requirement clients/serving_on_ray/requirements.txt --editable '.[ray]'
	RAY_raylet_start_wait_time_s=120 $(RAY)/bin/python -m pytest -q -c clients/pytest.ini clients/scoring_on_ray
	RAY_raylet_start_wait_time_s=120 $(RAY)/bin/python -m pytest -q -c clients/pytest.ini clients/serving_on_ray

test-spark:  ## scoring of data frames of Spark on this machine; needs a JVM, as Debian's default-jre-headless
	$(PYTHON) -m venv $(SPARK)
	$(SPARK)/bin/python -m pip install -qq --requirement clients/scoring_on_spark/requirements.txt --editable '.[score]'
	$(SPARK)/bin/python -m pytest -q -c clients/pytest.ini clients/scoring_on_spark

test-zoo:  ## small networks as torch exports them, each in many sizes, beside torch and onnxruntime; EVERY=1: all of their variants, in hours
	$(PYTHON) -m venv $(ZOO)
	$(ZOO)/bin/python -m pip install -qq --requirement clients/model_zoo/requirements.txt --editable .
	$(call tested,OMP_NUM_THREADS=1 $(ZOO)/bin/python -m pytest -q -n $(JOBS) -c clients/pytest.ini clients/model_zoo,-n 0)

# Optimum requires an older Transformers than the builder of onnxruntime-genai.
test-decoders:  ## small language models as onnxruntime-genai's builder, mobius, torch and Optimum write them: native, with the tokens of the reference engine and of onnxruntime-genai
	$(PYTHON) -m venv $(DECODERS)
	$(DECODERS)/bin/python -m pip install -qq --requirement clients/decoders/requirements.txt --editable .
	OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 $(DECODERS)/bin/python -m pytest -q -c clients/pytest.ini clients/decoders/test_genai.py clients/decoders/test_mobius.py clients/decoders/test_dynamo.py
	$(PYTHON) -m venv $(DECODERS)-optimum
	$(DECODERS)-optimum/bin/python -m pip install -qq --requirement clients/decoders/requirements-optimum.txt --editable .
	OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 $(DECODERS)-optimum/bin/python -m pytest -q -c clients/pytest.ini clients/decoders/test_optimum.py

# Debian's packages are unpacked in a folder, not installed, but for the cross compiler that .ci/run installs.
EMULATORS := build/emulators
emulators: $(STAMP)  ## Python for AArch64 and RISC-V, and QEMU, in build/emulators
	PYTHONPATH=clients $(BIN)/python -m emulators.sysroots $(EMULATORS)

test-emulators: emulators  ## programs on AArch64 and RISC-V under QEMU: the bits of x86-64; EMULATED_CASES=300: more official cases
	$(call tested,SARDONYX_SYSROOTS=$(abspath $(EMULATORS)) $(BIN)/python -m pytest -q -c clients/pytest.ini clients/emulators)

# WRITE=--write takes over what is under development, after its texts were read.
next:  ## the newest development release of onnx beside ours: operators, their texts, messages, cases on both engines
	$(PYTHON) -m venv $(NEXT)
	$(NEXT)/bin/python -m pip install -qq --upgrade --requirement tools/onnx_weekly/requirements.txt --editable .
	PYTHONPATH=tools:tests $(NEXT)/bin/python -m onnx_weekly.compare $(WRITE)

VIEWER := viewer/node_modules/.package-lock.json
$(VIEWER): viewer/package.json viewer/package-lock.json
	cd viewer && npm ci --no-audit --no-fund

viewer: $(VIEWER)  ## the page of `sardonyx view`: lint, types, tests, and whether its bundles are those of its sources
	cd viewer && npm run --silent lint && npm run --silent types && npm run --silent test && npm run --silent check

test-viewer: $(VIEWER) $(STAMP)  ## the page in a browser, which CHROMIUM names; EVERY=1: with all official models, in some minutes
	cd viewer && PYTHON=$(abspath $(BIN)/python) npm run --silent test-browser

fuzz: $(STAMP)  ## the random tests with FACTOR times as many samples
	SARDONYX_FUZZ_FACTOR=$(FACTOR) $(PYTEST) --timeout=3600 -m fuzz $(T)

# The first cases of each campaign, about three minutes of processor time; none may be a fault.
SAMPLE := bytes:20000 structure:800 attributes:800 feeds:700 extremes:500 graphs:60 mismatched-sizes:800 unkind-graphs:400 unkind-gradients:100 quantized:100
fuzz-sample: $(STAMP)  ## the first cases of the campaigns of tools/fuzz
	@folder=$$(mktemp -d) && for campaign in $(SAMPLE); do \
	  $(BIN)/python tools/fuzz/run.py $${campaign%:*} --state $$folder --cases $${campaign#*:} --jobs $(JOBS) || exit 1; \
	done; rm -r $$folder

# Apart from `make test`, whose time it would nearly double on Python 3.11, where tracing is a call for every line.
coverage: $(STAMP)  ## line and branch coverage of the tests that `make test-fast` runs
	$(PYTEST) $(FAST) --cov --cov-report=term:skip-covered $(T)

regen: $(STAMP)  ## rewrite the generated files
	$(BIN)/python tools/regen.py
	$(BIN)/python tools/class_probes.py

generated: $(STAMP)  ## check that the generated files are up to date
	$(BIN)/python tools/regen.py --check
	$(BIN)/python tools/class_probes.py --check

# The diagrams of the site are drawn by a script that the site brings along: it works without a network.
MERMAID := mermaid-11.17.2
MERMAID_SHA256 := 6ad2f42c3fc26bbf9e45cbb6d11898972573ea52b33a5f4ff51952899f950ffd
MERMAID_SCRIPT := build/$(MERMAID)/package/dist/mermaid.min.js
$(MERMAID_SCRIPT):
	mkdir -p build/$(MERMAID)
	cd build/$(MERMAID) && npm pack --silent $(subst mermaid-,mermaid@,$(MERMAID))
	cd build/$(MERMAID) && echo "$(MERMAID_SHA256)  $(MERMAID).tgz" | sha256sum --check --quiet
	cd build/$(MERMAID) && tar -xzmf $(MERMAID).tgz package/dist/mermaid.min.js && rm $(MERMAID).tgz

kernels: $(STAMP)  ## the libraries of compiled kernels, for all classes of processors, in minutes
	$(BIN)/python tools/kernel_library.py --jobs $(JOBS)

wheel: kernels  ## the wheel with its kernel libraries, in dist/; it must have at most 15 MB
	rm -f dist/sardonyx-*.whl
	$(PIP) wheel -q --no-deps --wheel-dir dist .
	$(BIN)/python tools/wheel_size.py dist/sardonyx-*.whl

docs: $(STAMP) $(MERMAID_SCRIPT)  ## the documentation site, in build/site; a broken link is an error
	$(PIP) install -qq --constraint $(LOCK) --group docs
	NO_MKDOCS_2_WARNING=1 MERMAID_SCRIPT=$(abspath $(MERMAID_SCRIPT)) $(BIN)/mkdocs build --quiet --strict

conversions: $(STAMP)  ## every official case under every other version of its operator sets
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/conversions.py

bench: $(STAMP)  ## measure loading, saving and start-up beside other tools
	$(PIP) install -qq --constraint $(LOCK) --group bench
	OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/run.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/front_page.py

# Resolved for every platform and every supported Python at once. The versions that the file has are kept unless
# pyproject.toml excludes them; `make lock UPGRADE=--upgrade` takes the newest ones.
lock: $(BIN)/python  ## write requirements-dev.lock from pyproject.toml
	$(PIP) install -qq --constraint $(LOCK) --group lock
	$(BIN)/uv pip compile --quiet --no-config --default-index https://pypi.org/simple --universal \
		--fork-strategy fewest --python-version 3.11 --no-annotate --no-header $(UPGRADE) \
		--all-extras --group dev --group bench --group docs --group lock --output-file $(LOCK) pyproject.toml

hooks: $(STAMP)  ## run lint before each commit, and check its subject
	$(BIN)/pre-commit install --hook-type pre-commit --hook-type commit-msg

clean:
	rm -rf $(VENV) $(CLIENTS) $(SERVING) $(RAY) $(SPARK) $(ZOO) $(NEXT) .mypy_cache .ruff_cache .pytest_cache .hypothesis .demo .coverage htmlcov
