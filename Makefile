# Heads Up: `make app` serves it, `make test` checks it, `make help` tells the rest. Each sets up what it needs in .venv,
# and again only when the requirements or this file change.

PYTHON := .venv/bin/python
CHROMIUM := chromium chromium-browser google-chrome google-chrome-stable
.PHONY: help app test test-cluster test-faults lint audit clean chromium

help:
	@echo 'make app     serve Heads Up on http://127.0.0.1:8501, or on the next free port'
	@echo '               PORT=8600      on that port and no other'
	@echo '               HOST=0.0.0.0   let other computers in, as visitors who change nothing of this one'
	@echo '               SHARED=1       the same for others who come through a proxy or a tunnel on this computer'
	@echo '               NAME=heads.example.org   and by that name'
	@echo '               TORCH_INDEX=https://download.pytorch.org/whl/cpu'
	@echo '                              at the first run on Linux: PyTorch without CUDA, a much smaller download'
	@echo 'make test    lint, then unit, page and browser tests; ARGS="-k mask" goes to pytest'
	@echo 'make test-cluster  runs on a Ray cluster of its own on this machine; installs Ray into .venv'
	@echo 'make test-faults   an hour and more of real faults: kills at random moments, full disks, too little memory,'
	@echo '                   the largest presets, and half an hour of twenty visitors'
	@echo 'make lint    lint alone'
	@echo 'make audit   known vulnerabilities of the pinned packages, where the package index has such data'
	@echo 'make clean   remove .venv and caches; runs and checkpoints stay'

app:
	+@sh -c "$$SETUP" setup .venv/app.stamp
	@exec $(PYTHON) ui/serve.py $(if $(HOST),--host '$(HOST)') $(if $(PORT),--port '$(PORT)') \
	  $(if $(SHARED),--shared) $(foreach name,$(NAME),--name '$(name)')

test: lint chromium
	OMP_NUM_THREADS=1 $(PYTHON) -m pytest -n 2 --dist worksteal $(ARGS)

test-cluster:
	+@sh -c "$$SETUP" setup .venv/cluster.stamp
	HEADSUP_TEST_CLUSTER=1 OMP_NUM_THREADS=1 $(PYTHON) -m pytest tests/cluster $(ARGS)

test-faults:
	+@sh -c "$$SETUP" setup .venv/test.stamp
	OMP_NUM_THREADS=1 $(PYTHON) -m pytest tests/faults -m faults -s $(ARGS)

lint:
	+@sh -c "$$SETUP" setup .venv/test.stamp
	$(PYTHON) -m ruff check --output-format concise .

audit:
	+@sh -c "$$SETUP" setup .venv/audit.stamp
	$(PYTHON) -m pip_audit --no-deps --disable-pip -r requirements.txt

clean:
	rm -rf .venv .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

chromium:
	@for name in $(CHROMIUM); do if command -v $$name > /dev/null; then exit 0; fi; done; \
	if grep -qs '^ID=debian' /etc/os-release && [ "$$(id -u)" = 0 ]; then \
	  echo 'Installing Chromium for the browser tests.'; \
	  apt-get -qq update; \
	  DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 install -y chromium > /dev/null && exit 0; \
	fi; \
	echo 'No Chromium here: install it from your system, or the browser tests are skipped.'

# The four below are made by SETUP, under its lock. BASE is a Python that can make the virtual environment; one that is
# there is kept as long as it works.
define INSTALL
@$(PYTHON) -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || '$(BASE)' -m venv --clear .venv
$(PYTHON) -m pip install --disable-pip-version-check $(if $(TORCH_INDEX),--extra-index-url '$(TORCH_INDEX)') -r $<
@touch $@
endef

.venv/app.stamp: requirements.txt Makefile $(PYTHON)
	$(INSTALL)

.venv/test.stamp: requirements/test.txt requirements.txt Makefile $(PYTHON)
	$(INSTALL)

.venv/cluster.stamp: requirements/cluster.txt .venv/test.stamp
	$(INSTALL)

.venv/audit.stamp: requirements/audit.txt .venv/app.stamp
	$(INSTALL)

$(PYTHON): ;

define SETUP
for python in $(PYTHON) python3.13 python3.12 python3.11 python3 python; do
  if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
    exec "$$python" -c "$$LOCKED" $(MAKE) --no-print-directory --silent BASE="$$python" "$$1"
  fi
done
echo 'Heads Up needs Python 3.11 or newer with its venv module, and there is none on the PATH:' >&2
echo 'get it from your system (Debian and Ubuntu: apt-get install python3-venv) or from python.org.' >&2
exit 1
endef
export SETUP

# The kernel's lock on this file, held by the make that is started here and what it starts: it ends with them however
# they end. Taken in Python because macOS has no flock command.
define LOCKED
import fcntl, os, sys
lock = os.open("Makefile", os.O_RDONLY)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("Another make is setting up; waiting for it.", flush=True)
    fcntl.flock(lock, fcntl.LOCK_EX)
os.set_inheritable(lock, True)
os.execvp(sys.argv[1], sys.argv[1:])
endef
export LOCKED
