# The two commands of the README are `make demo` and `make test`; `make help` lists the rest.
# Each does its own set-up and is quick when there is nothing left to do.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Models for the recorder's tests. They are installed without their dependencies, which would bring
# a second torch and web clients that nothing here calls; numpy and pillow are all that they import.
MODELS := torchvision==0.28.0 timm==1.0.31
# A training library under both of its names, and what it imports that is not here already; without
# the web clients that it would bring for data far away.
TRAINERS := lightning==2.6.6 pytorch-lightning==2.6.6 lightning-utilities==0.15.3 torchmetrics==1.9.0
# What explores; only `make fuzz` wants it, and it has wheels for few Pythons.
ATHERIS := atheris==3.0.0
FUZZ_MINUTES ?= 60
TORCHES ?= 2.8.0 2.9.1 2.10.0 2.11.0 2.12.0 2.13.0 2.14.0 2.15.0
FUZZ_FOUND ?= tests/fuzz/found

# What else the gallery of the dry run trains; only `make gallery` wants it.
GALLERY := diffusers==0.36.0

# Only `make audit` wants it; its dependencies stay out of what it checks.
PIP_AUDIT := pip-audit==2.10.1
AUDIT := $(VENV)/audit
# $(call audited,SUBJECT,COMMAND,OPTION FOR JSON,KEY IN IT): fails on an advisory, and passes where
# the registry publishes none, of which there is no key.
define audited
@answer=$$($(2) $(3) 2>/dev/null) && clean=yes || clean=no; \
	if [[ "$$answer" != *'$(4)'* ]]; then echo "audit: $(1): skipped, the registry publishes no advisories"; \
	elif [ $$clean = yes ]; then echo "audit: $(1): no known advisories"; \
	else $(2); fi
endef

TOOLS := $(VENV)/tools.stamp
INSTALLED := $(VENV)/installed.stamp
NODE_MODULES := frontend/node_modules/.package-lock.json

# Servers of the protocols of S3, Google and Azure, and their clients; only `make addresses` wants them.
ADDRESSES := $(VENV)/addresses
AZURITE := azurite@3.35.0

# What builds the site, with its dependencies; only `make docs` wants it.
DOCS := $(VENV)/docs

# What puts faults in; only `make mutants` wants it.
MUTMUT := mutmut==3.8.1
MODULE ?=
MUTANTS ?= --sample 150

.PHONY: help setup demo test test-rest test-all lint audit schema frontend addresses fuzz versions pythons mutants gallery clean

help: ## list what can be made
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

demo: setup frontend ## record a small training run and open it in TensorBoard
	@$(BIN)/hookview demo

test: setup frontend ## linters, types, quick tests, one of each slow kind (10 minutes on two cores)
	@CHROMIUM="$$(.ci/chromium)" $(BIN)/python tests/run.py quick

test-rest: setup frontend ## what test leaves out
	@CHROMIUM="$$(.ci/chromium)" $(BIN)/python tests/run.py rest

test-all: setup frontend ## every check there is
	@CHROMIUM="$$(.ci/chromium)" $(BIN)/python tests/run.py all

setup: $(NODE_MODULES) $(INSTALLED) ## the virtual environment and the page's dependencies

lint: setup ## ruff, mypy, tsc, eslint, prettier
	@$(BIN)/python tests/run.py lint

schema: setup ## what is made from the types of answers: openapi.json, definitions.md, the page's types
	@$(BIN)/python docs/generate.py
	@cd frontend && npm run --silent schema && npm run --silent definitions

audit: setup ## known advisories about what is installed: pip-audit, npm audit
	@[ -x $(AUDIT)/bin/pip-audit ] || { $(BIN)/python -m venv $(AUDIT) && \
	  $(AUDIT)/bin/python -m pip --disable-pip-version-check --quiet install "$(PIP_AUDIT)"; }
	$(call audited,Python packages,$(AUDIT)/bin/pip-audit --progress-spinner off --path $(VENV)/lib/python3*/site-packages,--format json,"vulns")
	$(call audited,packages of the page,npm --prefix frontend audit --fetch-retries=0,--json,"auditReportVersion")

frontend: setup ## the page's bundle, into tb_hookview/static/
	@$(BIN)/python setup.py --quiet build_frontend

addresses: $(INSTALLED) ## the tests of addresses, those on servers of buckets too
	@$(BIN)/python -m venv $(ADDRESSES)
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > "$$($(ADDRESSES)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/first.pth"
	@$(ADDRESSES)/bin/python -m pip --disable-pip-version-check --quiet install -r tests/addresses/requirements.txt
	@npm install --silent --no-save --prefix $(ADDRESSES) $(AZURITE) \
	  || echo "make: no npm or no $(AZURITE): the tests on a server of Azure's protocol are skipped" >&2
	@PYTHONPATH="$(CURDIR)" PATH="$(abspath $(ADDRESSES))/node_modules/.bin:$$PATH" \
	  $(ADDRESSES)/bin/python -m pytest tests/addresses

fuzz: $(INSTALLED) ## look for input that breaks something, for FUZZ_MINUTES (60)
	@$(PIP) install "$(ATHERIS)" || { echo "make: atheris has no wheel for this Python; use another with PYTHON" >&2; exit 1; }
	@$(BIN)/python tests/fuzz/windows.py
	@$(BIN)/python tests/fuzz/explore.py --minutes $(FUZZ_MINUTES) --folder $(FUZZ_FOUND)

versions: ## the recorder on each version of torch that it supports (5 GB of downloads each)
	@nice $(PYTHON) tests/versions/run.py

pythons: setup ## the wheel on each version of Python that it supports (1 GB of disk, one at a time)
	@nice $(BIN)/python tests/versions/pythons.py

mutants: $(INSTALLED) ## put small faults into MODULE (all) and count what the tests next to it notice
	@$(PIP) install "$(MUTMUT)"
	@$(BIN)/python tests/mutation/run.py $(MUTANTS) $(MODULE)

syncs-of-torch: $(INSTALLED) ## rows of the dry run against TORCHES, CUDA builds that are downloaded (1 GB each)
	@nice $(BIN)/python -m benchmarks.syncs_of_torch $(TORCHES) --write

gallery: $(INSTALLED) ## syncs of public models, into benchmarks/results/dry_run_gallery.md (a quarter of an hour)
	@$(PIP) install --no-deps $(GALLERY)
	@nice $(BIN)/python -m benchmarks.dry_run.gallery --write benchmarks/results/dry_run_gallery.md

.PHONY: docs
docs: $(DOCS)/installed.stamp ## the pages of docs/ as a site in build/site/, links checked
	@NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --config-file docs/site/mkdocs.yml --strict --quiet
	@$(DOCS)/bin/python docs/site/own.py build/site

clean: ## remove everything that was built, the environments too
	rm -rf $(VENV) build dist *.egg-info tb_hookview/static frontend/node_modules \
	  .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "make: no $(PYTHON); install Python 3.10 or newer, or set PYTHON" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "make: Python 3.10 or newer is needed; set PYTHON to one")'
	@echo "Making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(TOOLS): requirements-dev.txt Makefile | $(BIN)/python
	@echo "Installing torch and the checkers into $(VENV) (a few minutes the first time)"
	@$(PIP) install "$$(grep '^torch==' requirements-dev.txt)"
	@$(PIP) install -r requirements-dev.txt
	@$(PIP) install --no-deps $(MODELS) $(TRAINERS)
	@$(PIP) install numpy pillow
	@touch $@

$(INSTALLED): pyproject.toml setup.py $(TOOLS)
	@echo "Installing tb_hookview into $(VENV)"
	@$(PIP) install -e '.[record,pandas,polars,sql,tb-profiler]'
	@touch $@

$(DOCS)/installed.stamp: docs/requirements.txt | $(BIN)/python
	@echo "Installing MkDocs into $(DOCS)"
	@$(BIN)/python -m venv $(DOCS)
	@$(DOCS)/bin/python -m pip --disable-pip-version-check --quiet install -r docs/requirements.txt
	@touch $@

$(NODE_MODULES): frontend/package.json frontend/package-lock.json
	@command -v npm >/dev/null || { echo "make: npm is not installed; the page is built with it (Node 20.19 or newer: https://nodejs.org)" >&2; exit 1; }
	@echo "Installing the page's dependencies"
	@cd frontend && npm ci --no-audit --no-fund --loglevel=error
	@touch $@
