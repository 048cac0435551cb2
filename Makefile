# The project's commands: `make help` lists them. What they need is checked first, what they make lies under build/,
# and nothing but Go modules is downloaded. `make -C go TARGET` is the same for Go alone.

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

# Without a home that can be written to, Go's caches go under build/ as well.
ifeq ($(shell test -n "$$HOME" && test -d "$$HOME" && test -w "$$HOME" && echo yes),)
  export GOCACHE ?= $(CURDIR)/build/.cache/go-build
  export GOPATH ?= $(CURDIR)/build/.cache/go
  export GOLANGCI_LINT_CACHE ?= $(CURDIR)/build/.cache/golangci-lint
  export GOFLAGS += -modcacherw
endif

ONLY ?=
FUZZTIME ?= 60s
LOAD ?= 3s

.PHONY: help
help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done

.PHONY: needs needs-cc
needs:
	@sh scripts/prerequisites.sh
needs-cc:
	@sh scripts/prerequisites.sh cc

.PHONY: build peer-go peers examples
build: peer-go peers examples ## build all programs into build/
peer-go: needs
	@$(GO) build -C go -o ../build/peer-go ./peer
peers: needs ## build what the lab compares with into build/peers/
	@$(GO) build -C lab/peers/go -o ../../../build/peers/ ./...
examples: needs
	@$(GO) build -C examples/go -o ../../build/examples/ ./...

.PHONY: run
run: needs ## start the example server, call it, put it under load for a moment
	@echo 'building …'
	@$(MAKE) peer-go examples
	@$(GO) build -C lab/peers/go -o ../../../build/peers/ ./go-echo
	@$(PYTHON) scripts/run.py --load='$(LOAD)'

.PHONY: test
test: needs-cc ## run every check and test (ONLY=go runs those whose names begin so)
	@$(PYTHON) scripts/test.py $(if $(ONLY),--only '$(ONLY)')

.PHONY: fuzz
fuzz: needs ## run each fuzz target for FUZZTIME (60s)
	@$(PYTHON) scripts/test.py --only 'go fuzz' --fuzztime='$(FUZZTIME)'

.PHONY: vectors generate fmt
vectors: needs ## derive the vectors anew from their cases, then replay them
	@$(PYTHON) spec/vectors/derive.py
	@$(GO) test -C go -run Vector ./wire
generate: needs ## generate the Protobuf code anew
	@go/tools/generate.sh
fmt: needs ## format the sources
	@gofmt -w go lab/peers/go examples/go

.PHONY: lint
lint: needs ## the checks of `make test`, and golangci-lint
	@$(PYTHON) scripts/test.py --only 'check '
	@$(GO) build -C go/tools/lint -o ../../../build/tools/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@status=0; for module in go go/tools lab/peers/go examples/go; do \
		(cd $$module && "$(CURDIR)/build/tools/golangci-lint" run --config "$(CURDIR)/.golangci.yml" ./...) || status=1; \
	done; exit $$status

.PHONY: bench bench-go
bench: bench-go ## measure beside the peers: over an hour, see lab/README.md
bench-go: peer-go peers
	@$(PYTHON) lab/run.py lab/go.toml

.PHONY: clean
clean: ## remove build/
	@rm -rf build
