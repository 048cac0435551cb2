# The project's commands: `make help` lists them. What they need is checked first, what they make lies under build/,
# and nothing but Go modules, packages of Python and, for the stock clients, of Node.js and Java is downloaded, of the
# versions that stand in the tree.
# `make -C go TARGET` and `make -C python TARGET` are the same for one language alone.

.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory

GO ?= go
PYTHON ?= python3
export GO PYTHON

# Compiled Python is kept only where it cannot be helped, and then under build/.
export PYTHONDONTWRITEBYTECODE := 1
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/.cache/python

# Whether git knows this folder makes no difference to what is built.
export GOFLAGS := $(filter-out -buildvcs%,$(GOFLAGS)) -buildvcs=false

# Without a home that can be written to, the caches go under build/ as well.
ifeq ($(shell test -n "$$HOME" && test -d "$$HOME" && test -w "$$HOME" && echo yes),)
  export GOCACHE ?= $(CURDIR)/build/.cache/go-build
  export GOPATH ?= $(CURDIR)/build/.cache/go
  export GOLANGCI_LINT_CACHE ?= $(CURDIR)/build/.cache/golangci-lint
  export GOFLAGS += -modcacherw
  export PIP_CACHE_DIR ?= $(CURDIR)/build/.cache/pip
endif

ONLY ?=
FUZZTIME ?= 60s
LOAD ?= 3s
SOAK ?= 10m
STARVE ?=
RUNS ?=

.PHONY: help
help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-11s %s\n' "$$name" "$$text"; done

.PHONY: needs needs-test needs-python
needs:
	@sh scripts/prerequisites.sh
needs-test:
	@sh scripts/prerequisites.sh --tests
needs-python:
	@sh scripts/prerequisites.sh

.PHONY: build peer-go session-go h2spec peer-python session-python peers peers-go peers-python examples
build: peer-go peer-python peers examples ## build all programs into build/
peer-go: needs
	@$(GO) build -C go -o ../build/peer-go ./peer
session-go: needs
	@$(GO) build -C go -o ../build/session-go ./internal/session
h2spec: needs
	@$(GO) build -C go/tools/h2spec -o ../../../build/tools/h2spec github.com/summerwind/h2spec/cmd/h2spec
peer-python: environment-python
	@sh scripts/launcher.sh build/peer-python build/python peer
session-python: environment-python
	@sh scripts/launcher.sh build/session-python build/python session
peers: peers-go peers-python ## build what the lab compares with into build/peers/
peers-go: needs
	@$(GO) build -C lab/peers/go -o ../../../build/peers/ ./...
peers-python: needs-python
	@$(PYTHON) scripts/environment.py build/peers/python
	@sh scripts/launcher.sh build/peers/python-grpcio-aio build/peers/python grpcio_aio
	@sh scripts/launcher.sh build/peers/python-grpcio build/peers/python grpcio_blocking
	@sh scripts/launcher.sh build/peers/python-thrift build/peers/python apache_thrift
	@sh scripts/launcher.sh build/peers/python-echo build/peers/python echo
examples: needs
	@$(GO) build -C examples/go -o ../../build/examples/ ./...

.PHONY: environment-python
environment-python: needs-python
	@$(PYTHON) scripts/environment.py build/python

.PHONY: run
run: needs needs-python ## start the example servers, call each from the other's language, put load on them
	@began=$$(date +%s); echo 'building …'; \
	$(MAKE) peer-go peer-python examples && \
	$(GO) build -C lab/peers/go -o ../../../build/peers/ ./go-echo && \
	$(PYTHON) scripts/run.py --load='$(LOAD)' --began="$$began"

.PHONY: test
test: needs-test ## run every check and test (ONLY=go runs those whose names begin so)
	@$(PYTHON) -m scripts.test $(if $(ONLY),--only '$(ONLY)')

.PHONY: starve
starve: needs-test ## the same beside STARVE busy loops (as many as there are processors)
	@$(PYTHON) -m scripts.test --starve $(STARVE) $(if $(ONLY),--only '$(ONLY)')

.PHONY: costs
costs: needs ## write what the last whole `make test` took into conformance/README.md
	@$(PYTHON) -m scripts.costs --write

.PHONY: conformance
conformance: needs needs-python ## the matrix, and the other tests of languages against each other
	@$(PYTHON) -m scripts.test --only 'matrix,go and python'

.PHONY: stock matrix
stock: needs needs-python ## build the stock clients into build/stock, those for which there are the tools
	@$(PYTHON) scripts/stock.py
matrix: peer-go environment-python stock ## carry out all conformance cases and write conformance/matrix.md
	@env -u PYTHONPATH build/python/bin/python -W error -m conformance.runner --write

.PHONY: faults soak
faults: peer-go environment-python ## bring about every fault of conformance/faults in full: half an hour
	@TRUNKCALL_FAULTS=full build/python/bin/python -W error -m unittest discover -v -s conformance -t . -p 'test_faults_*.py'
soak: peer-go environment-python ## mixed load with resets and restarts for SOAK (10m), fails if anything is kept
	@build/python/bin/python -m conformance.faults.soak --for='$(SOAK)'

.PHONY: fuzz
fuzz: needs ## run each fuzz target for FUZZTIME (60s)
	@$(PYTHON) -m scripts.test --fuzz='$(FUZZTIME)'

# In build/python, as scripts/suites.py runs things there.
IN_PYTHON = cd python && env -u PYTHONDONTWRITEBYTECODE -u PYTHONPATH ../build/python/bin/python

.PHONY: vectors vectors-go vectors-python generate generate-go generate-python fmt fmt-go fmt-python
vectors: ## derive the vectors anew from their cases, then replay them
	@$(PYTHON) spec/vectors/derive.py
	@$(MAKE) vectors-go vectors-python
vectors-go: needs
	@$(GO) test -C go -count=1 -run Vector . ./internal/transport ./internal/wire
vectors-python: environment-python
	@$(IN_PYTHON) -m unittest discover -s tests -t . -p 'test*vectors*.py'
generate: generate-go generate-python ## generate the Protobuf code anew
generate-go: needs
	@go/tools/generate.sh
generate-python: environment-python
	@$(IN_PYTHON) tools/generate.py
.PHONY: api api-go api-python reference reference-python
api: api-go api-python ## write down the public surface in go/api.txt and python/api.txt
api-go: needs
	@$(GO) -C go/tools run ./api
api-python: environment-python
	@$(IN_PYTHON) tools/api.py
reference: reference-python ## make the reference of Python's API under build/reference
reference-python: environment-python
	@$(IN_PYTHON) tools/reference.py
fmt: fmt-go fmt-python ## format the sources
fmt-go: needs
	@gofmt -w go lab/peers/go examples/go conformance/interop conformance/stock/go
fmt-python: environment-python
	@$(IN_PYTHON) -m ruff check --quiet --fix-only . ../conformance ../harness ../examples/python ../lab/peers/python
	@$(IN_PYTHON) -m ruff format --quiet . ../conformance ../harness ../examples/python ../lab/peers/python

.PHONY: lint
lint: needs needs-python ## the checks of `make test`, and golangci-lint
	@$(PYTHON) -m scripts.test --only 'check '
	@$(GO) build -C go/tools/lint -o ../../../build/tools/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@status=0; for module in go go/tools lab/peers/go examples/go conformance/interop conformance/stock/go; do \
		(cd $$module && "$(CURDIR)/build/tools/golangci-lint" run --config "$(CURDIR)/.golangci.yml" ./...) || status=1; \
	done; exit $$status

.PHONY: bench bench-go bench-python bench-distance results
bench: bench-go bench-python bench-distance ## measure beside the peers: five hours, see lab/README.md
bench-go: peer-go peers-go
	@$(PYTHON) lab/run.py lab/go.toml
bench-python: peer-python peer-go peers
	@$(PYTHON) lab/run.py lab/python.toml
bench-distance: peer-python peer-go peers
	@$(PYTHON) lab/run.py lab/distance.toml
results: ## write lab/RESULTS.md and README.md's table from RUNS (all in build/lab)
	@$(PYTHON) lab/results.py $(RUNS)

.PHONY: clean
clean: ## remove build/
	@rm -rf build
