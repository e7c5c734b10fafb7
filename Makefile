# Heads Up: `make app` serves it, `make test` checks it, `make help` tells the rest. Each first installs what it needs
# into .venv, and again when that has changed or was interrupted.

PYTHON := .venv/bin/python
INSTALL = $(PYTHON) -m pip install --disable-pip-version-check -r requirements.txt \
  $(if $(TORCH_INDEX),--extra-index-url '$(TORCH_INDEX)')
# minutes: how long at most, whatever hangs
PYTEST = OMP_NUM_THREADS=1 $(PYTHON) -m pytest --session-timeout=$$(( $(1) * 60 ))
TOGETHER := -n 3 --dist worksteal
SLOW := app browser cluster faults huggingface lint raw server
NEEDED := requirements.txt pyproject.toml Makefile
NEEDED += $(shell $(PYTHON) -c 'import pip' 2> /dev/null || echo venv) # which is missing, half made or broken
.PHONY: help app serve test test-fast test-rare test-cluster test-faults test-all lint lint-types lint-js lint-python \
  lint-files audit requirements release clean venv chromium caddy browsers

help:
	@echo 'make app     serve Heads Up on http://127.0.0.1:8501, or on the next free port'
	@echo '               PORT=8600      on that port and no other'
	@echo '               HOST=0.0.0.0   let other computers in, as visitors who change nothing of this one'
	@echo '               SHARED=1       the same for others who come through a proxy or a tunnel on this computer'
	@echo '               NAME=heads.example.org   and by that name'
	@echo '               TORCH_INDEX=https://download.pytorch.org/whl/cpu'
	@echo '                              at the first run on Linux: PyTorch without CUDA, a much smaller download'
	@echo 'make serve   the same for a large class: several processes behind Caddy, which the system has to have'
	@echo '               WORKERS=4      as many processes as that; as many as there are cores if not given'
	@echo '               PORT=, HOST=, NAME=   as above'
	@echo '               METRICS=9100   figures for Prometheus on that port of this computer'
	@echo 'make test    lint, then unit, page and browser tests; ARGS="-k mask" goes to pytest'
	@echo '               nine minutes on two cores; ends after 30'
	@echo 'make test-fast     unit tests alone: a minute; ends after 5'
	@echo 'make test-rare     what is slow and seldom breaks: other browsers, killed processes, mutated files, the wheel,'
	@echo '                   JupyterLab and marimo, which are installed into .venv; 14 minutes; ends after 60'
	@echo 'make test-cluster  runs on a Ray cluster of its own on this machine, for which Ray is installed into .venv;'
	@echo '                   five minutes; ends after 30'
	@echo 'make test-faults   real faults: kills at random moments, full disks, too little memory, the largest presets,'
	@echo '                   and half an hour of twenty visitors; an hour and more; ends after 180'
	@echo 'make test-all      all of these, one after another'
	@echo 'make lint    style, types, import rules, and whether documents, accepted files and marks are right; 1½ minutes'
	@echo 'make audit   known vulnerabilities of all that is installed, where the package index has such data'
	@echo 'make requirements  pin in requirements.txt what pyproject.toml asks for; UPGRADE=--upgrade takes the newest'
	@echo 'make release   the sdist and the wheel in dist/, tried in an environment of their own: the notebook, every page;'
	@echo '               nothing is uploaded; TORCH_INDEX= as above'
	@echo 'make clean   remove .venv and caches; runs and checkpoints stay'

app: .venv/app
	@exec $(PYTHON) -m transformer app $(if $(HOST),--host '$(HOST)') $(if $(PORT),--port '$(PORT)') \
	  $(if $(SHARED),--shared) $(foreach name,$(NAME),--name '$(name)')

serve: .venv/app
	@exec $(PYTHON) -m transformer serve $(if $(WORKERS),--workers '$(WORKERS)') $(if $(HOST),--host '$(HOST)') \
	  $(if $(PORT),--port '$(PORT)') $(foreach name,$(NAME),--name '$(name)') $(if $(METRICS),--metrics '$(METRICS)')

test: lint chromium caddy
	$(call PYTEST,30) $(TOGETHER) $(ARGS)

test-fast: .venv/test
	$(call PYTEST,5) -n 2 --dist worksteal -m 'not slow and not rare and not faults' $(SLOW:%=--ignore=tests/%) $(ARGS)

test-rare: .venv/notebooks chromium browsers caddy
	$(call PYTEST,60) $(TOGETHER) -m rare $(ARGS)

test-cluster: .venv/cluster
	HEADSUP_TEST_CLUSTER=1 $(call PYTEST,30) tests/cluster $(ARGS)

test-faults: .venv/test
	$(call PYTEST,180) tests/faults -m faults -s $(ARGS)

test-all: test test-rare test-cluster test-faults

# Side by side: types and scripts take most of the time, on a core each.
lint: .venv/test
	@$(MAKE) --no-print-directory --keep-going --jobs=4 lint-types lint-js lint-python lint-files

lint-types:
	@$(PYTHON) -m pyright

lint-python:
	@$(PYTHON) -m ruff check --output-format concise .

# Import rules, widths, documents and accepted files: tests that import no PyTorch, and so no tests/conftest.py.
lint-files:
	@$(PYTHON) -m pytest --noconftest -p no:xdist -m 'not slow' tests/lint

# The tools of the scripts and axe come from npm, where it is there and reaches its registry.
lint-js:
	@if command -v npm > /dev/null && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent; }; then \
	  npm run --silent lint; \
	else echo 'No npm here, or no way to its registry: the scripts are not linted.'; fi

audit: .venv/audit
	$(PYTHON) -m pip_audit --local --skip-editable

# All that is installed, on every system, but for what only PyTorch for CUDA asks for: it pins that itself, and PyTorch
# without CUDA needs none of it. No hashes: pip wants either none or all, and the two builds of PyTorch have different
# ones under one version.
requirements: .venv/app
	$(PYTHON) -m pip install --disable-pip-version-check --quiet uv
	$(PYTHON) -m uv pip compile $(UPGRADE) --quiet --universal --no-annotate --custom-compile-command 'make requirements' \
	  --python-version 3.11 pyproject.toml --output-file requirements.txt
	sed -i.before "/sys_platform == 'linux'/d" requirements.txt && rm requirements.txt.before

# The wheel is built of what is in the sdist.
release: .venv/release chromium
	rm -rf dist
	$(PYTHON) -m build
	$(PYTHON) -m twine check --strict dist/*
	HEADSUP_RELEASE=$(CURDIR)/dist HEADSUP_REQUIRE_BROWSER=1 $(if $(TORCH_INDEX),PIP_EXTRA_INDEX_URL='$(TORCH_INDEX)') \
	  $(call PYTEST,30) -m rare tests/browser/test_installed.py

clean:
	rm -rf .venv dist node_modules .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/app: $(NEEDED)
	$(INSTALL) --editable .
	@touch $@

.venv/test .venv/cluster .venv/notebooks .venv/audit .venv/release: .venv/%: $(NEEDED)
	$(INSTALL) --editable '.[$*]'
	@touch $@

# A Python that can make a virtual environment.
venv:
	@for python in python3.13 python3.12 python3.11 python3 python; do \
	  if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then \
	    exec "$$python" -m venv --clear .venv; \
	  fi; \
	done; \
	echo 'Heads Up needs Python 3.11 or newer with its venv module, and there is none on the PATH:' >&2; \
	echo 'get it from your system (Debian and Ubuntu: apt-get install python3-venv) or from python.org.' >&2; \
	exit 1

chromium:
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
	  if command -v $$name > /dev/null; then exit 0; fi; \
	done; \
	if grep -qs '^ID=debian' /etc/os-release && [ "$$(id -u)" = 0 ]; then \
	  echo 'Installing Chromium for the browser tests.'; \
	  apt-get -qq update; \
	  DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 install -y chromium > /dev/null && exit 0; \
	fi; \
	echo 'No Chromium here: install it from your system, or the browser tests are skipped.'

caddy:
	@if command -v caddy > /dev/null; then exit 0; fi; \
	if grep -qs '^ID=debian' /etc/os-release && [ "$$(id -u)" = 0 ]; then \
	  echo 'Installing Caddy for the tests of several workers.'; \
	  apt-get -qq update; \
	  DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 install -y --no-install-recommends caddy \
	    > /dev/null && { systemctl --quiet disable --now caddy 2> /dev/null; exit 0; }; \
	fi; \
	echo 'No Caddy here: install it from your system, or the tests of several workers are skipped.'

# Firefox and WebKitGTK, which the main path is tested in as well.
browsers:
	@if command -v firefox-esr > /dev/null && command -v WebKitWebDriver > /dev/null && command -v Xvfb > /dev/null; then \
	  exit 0; \
	fi; \
	if grep -qs '^ID=debian' /etc/os-release && [ "$$(id -u)" = 0 ]; then \
	  echo 'Installing Firefox and WebKitGTK for the browser tests.'; \
	  apt-get -qq update; \
	  DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 install -y --no-install-recommends \
	    firefox-esr webkit2gtk-driver xvfb gstreamer1.0-plugins-base > /dev/null && exit 0; \
	fi; \
	echo 'Firefox or WebKitGTK is missing here: the tests of the main path in them are skipped.'
