# What contributors type. `make` alone lists the targets.
PY := .venv/bin/python -I
export DJANGO_SETTINGS_MODULE := archivebox.config.settings
PATHS := archivebox tests bin/environment.py $(wildcard benchmarks)
TEMPLATES := $(wildcard archivebox/web/templates archivebox/plugins/*/templates)
STYLES := $(wildcard archivebox/web/static/web/*.css archivebox/export/site/*.css)
STYLE := --indent-size 2 --end-with-newline --space-around-combinator
CHAOS_SECONDS ?= 300
ENGINE := tests/integration/engine tests/chaos

.PHONY: help env check format reformat lint types layers dependencies migrations suppressions names budget docs pictures test test-all test-sqlite test-postgres test-modes bare-root image compose kubernetes workflows chaos chaos-pages fleet fuzz bench quality lock lock-upgrade lock-plugins wheel clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env:  ## make the development environment in .venv
	@bin/environment requirements-dev.lock >/dev/null

check: format lint types layers dependencies migrations names budget suppressions  ## all of the next nine (-k: go on after a failure)

format: env  ## is everything formatted: Python, templates, style sheets?
	.venv/bin/ruff format --check --quiet $(PATHS)
	.venv/bin/djangofmt --check --quiet $(TEMPLATES)
	@for file in $(STYLES); do \
	  .venv/bin/css-beautify $(STYLE) "$$file" | cmp -s - "$$file" || { echo "not formatted: $$file"; failed=1; }; \
	done; [ -z "$$failed" ]
	@! LC_ALL=C.UTF-8 grep -rnE '^.{121}' $(TEMPLATES) $(STYLES)

reformat: env  ## format Python, templates and style sheets
	.venv/bin/ruff format --quiet $(PATHS)
	.venv/bin/djangofmt --quiet $(TEMPLATES)
	.venv/bin/css-beautify --replace $(STYLE) $(STYLES)

lint: env  ## ruff
	.venv/bin/ruff check $(PATHS)

types: env  ## mypy, strict; the scripts of plugins in a step of their own
	.venv/bin/mypy $(PATHS)
	.venv/bin/python -m tests.architecture.scripts

layers: env  ## does every import point down?
	.venv/bin/lint-imports --no-cache

dependencies: env  ## is what is imported declared, and the other way round?
	.venv/bin/deptry archivebox

migrations: env  ## Django's own checks, and a migration for every change of a model
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && export DATA_DIR="$$folder" && set -x && \
	  $(PY) -m django check && $(PY) -m django makemigrations --check --dry-run

names: env  ## are names of classes unique, words plain, subjects of commits short?
	.venv/bin/python -m tests.architecture.names

budget: env  ## is the program within tests/architecture/budget.toml?
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && DATA_DIR="$$folder" $(PY) -m tests.architecture.budget

suppressions:  ## how many findings are waved through
	@echo "noqa: $$(grep -rE '# noqa' --include='*.py' $(PATHS) | wc -l)," \
	  "type: ignore: $$(grep -rE '# type: ignore' --include='*.py' $(PATHS) | wc -l)"

test:  ## the default suite, on SQLite and on PostgreSQL (`make test-all`: everything)
	bin/test

test-all:  ## everything
	bin/test --all

test-sqlite: env  ## the suite on SQLite
	.venv/bin/pytest

test-postgres: env  ## the suite on a throw-away PostgreSQL
	bin/with-postgres .venv/bin/pytest

test-modes: env  ## the engine's tests and chaos, all three ways to start hooks, on both databases
	for mode in forked cold portable; do \
	  ENGINE_MODE=$$mode .venv/bin/pytest $(ENGINE) && \
	  ENGINE_MODE=$$mode bin/with-postgres .venv/bin/pytest $(ENGINE) || exit 1; \
	done

bare-root:  ## the README's commands on a fresh Debian, as root and as a sudoer (needs root)
	tests/bare_root.sh both

image:  ## build the container's image with IMAGE_ENGINE (podman, docker) and try it (needs root; half an hour)
	IMAGE_ENGINE=$(or $(IMAGE_ENGINE),podman) tests/image.sh both

compose: env  ## validate the compose files against the schema of Compose
	.venv/bin/uv tool run --quiet check-jsonschema --builtin-schema vendor.compose-spec packaging/compose*.yaml

kubernetes: env  ## validate the manifests against the schemas of Kubernetes (what KEDA brings has none there)
	@for file in $(filter-out %/kustomization.yaml %/scaler.yaml,$(wildcard packaging/kubernetes/*.yaml)); do \
	  .venv/bin/uv tool run --quiet kubernetes-validate --strict "$$file" || exit 1; \
	done

workflows: env  ## validate the workflows of GitHub against their schema
	.venv/bin/uv tool run --quiet check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

chaos: env  ## kill things at random for CHAOS_SECONDS and see that nothing is lost
	.venv/bin/python -m tests.chaos.run $(CHAOS_SECONDS)

chaos-pages: env  ## kill what takes part in opening a page, 20 times in each of 33 cells (an hour; needs Chromium)
	.venv/bin/python -m tests.chaos.pages

fleet: env  ## three machines with a store archive 300 pages, while each of these fails (root, Chromium, half an hour)
	.venv/bin/python -m tests.fleet.run

fuzz: env  ## ask the API what its description allows, 200 times for each operation
	API_EXAMPLES=200 .venv/bin/pytest -q tests/integration/api/test_others.py -k description_allows --timeout=0

bench: env  ## the benchmarks
	$(PY) -m benchmarks

quality: env  ## archive pages of the local web, compare each format with the live page, write docs/quality.md (half an hour)
	.venv/bin/python -m tests.quality

COMPILE := .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header pyproject.toml

docs: env  ## write the reference of the plugins
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	  $(PY) -m archivebox --data-dir "$$folder" plugin reference >docs/plugins.md

pictures: env  ## archive a made-up web, and take the README's pictures of that (needs Chromium; a minute)
	.venv/bin/python -m tests.pictures

lock: env  ## write the lock files after a change of the dependencies in pyproject.toml
	$(COMPILE) --output-file requirements.lock
	$(COMPILE) --group dev --constraints requirements.lock --output-file requirements-dev.lock

lock-upgrade: env  ## the same, with the newest versions
	$(COMPILE) --upgrade --output-file requirements.lock
	$(COMPILE) --upgrade --group dev --constraints requirements.lock --output-file requirements-dev.lock

lock-plugins: env  ## write the lock files of what plugins have pip install
	.venv/bin/python -m tests.suite.locks

wheel: env  ## build the package for PyPI, source and wheel, into dist/
	.venv/bin/uv build --quiet --out-dir dist

clean:  ## remove what can be made again
	rm -rf .venv .venv.* .mypy_cache .ruff_cache .import_linter_cache build dist *.egg-info
	find archivebox tests bin -name __pycache__ -type d -prune -exec rm -rf {} +
