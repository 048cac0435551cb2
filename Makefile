# The project's commands: `make help` lists them. What they need is checked first, what they make lies under build/,
# and nothing but packages of the languages is downloaded, of the versions that stand in the tree.
# What is done for a language stands in languages/NAME.toml: `make TARGET` does it for all, `make TARGET-NAME` for one, and
# so does `make -C FOLDER TARGET` in the language's folder.

.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# The project's own scripts are in Python.
PYTHON ?= python3
export PYTHON

# Compiled Python is kept only where it cannot be helped, and then under build/.
export PYTHONDONTWRITEBYTECODE := 1
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/.cache/python

# Without a home that can be written to, the caches go under build/ as well: languages/*.toml say which.
LANGUAGE = $(PYTHON) -m scripts.language
# For targets of one language.
ONE = $(LANGUAGE) --only $*

ONLY ?=
FUZZTIME ?= 60s
LOAD ?= 3s
SOAK ?= 10m
STARVE ?=
RUNS ?=
STORE ?=

.PHONY: help
help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-11s %s\n' "$$name" "$$text"; done

.PHONY: needs needs-test
needs:
	@sh scripts/prerequisites.sh
needs-test:
	@sh scripts/prerequisites.sh --tests
needs-%:
	@sh scripts/prerequisites.sh $*

.PHONY: build peer peers examples session connectconformance h2spec environment
build: needs ## build all programs into build/
	@$(LANGUAGE) build peer examples peers
build-%: needs-%
	@$(ONE) build peer examples
peer: needs # the reference programs
	@$(LANGUAGE) build peer
peers: needs ## build what the lab compares with into build/peers/, and test it
	@$(LANGUAGE) build peers peers-tests
peers-%: needs-%
	@$(ONE) build peers peers-tests
examples session connectconformance h2spec: needs
	@$(LANGUAGE) build $@
environment: needs # what the tests of languages together run in
	@$(PYTHON) scripts/environment.py build/python
environment-%: needs-%
	@$(ONE) environment

.PHONY: registries
registries: needs ## prepare etcd, ZooKeeper and Consul for the tests, which takes some minutes once
	@$(PYTHON) -m scripts.registries

.PHONY: run
run: needs ## start the example servers, call each from the other languages, put load on them
	@began=$$(date +%s); echo 'building …'; \
	$(LANGUAGE) build peer examples echo && \
	$(PYTHON) -m scripts.run --load='$(LOAD)' --began="$$began"

.PHONY: discovery
discovery: needs ## restart servers of all languages in turn while they are called, found in STORE (trunkcall, file, etcd, NAME …)
	@$(LANGUAGE) build peer examples
	@$(PYTHON) examples/discovery/run.py $(if $(STORE),'$(STORE)')

.PHONY: test
test: needs-test ## run every check and test (ONLY='go ' those whose names begin so; AGAIN=1 what failed once more)
	@$(PYTHON) -m scripts.test $(if $(ONLY),--only '$(ONLY)') $(if $(AGAIN),--again)

.PHONY: starve
starve: needs-test ## the same beside STARVE busy loops (as many as there are processors)
	@$(PYTHON) -m scripts.test --starve $(STARVE) $(if $(ONLY),--only '$(ONLY)')

.PHONY: costs
costs: needs ## write what the last whole `make test` took into conformance/README.md
	@$(PYTHON) -m scripts.costs --write

.PHONY: conformance
conformance: needs ## all pairs of languages: the matrix, and the other tests of languages against each other
	@TRUNKCALL_PAIRS=all $(PYTHON) -m scripts.test --only 'matrix,languages,discovery,faults,public suite,random sessions,random policies'

.PHONY: stock matrix
stock: needs ## build the stock clients into build/stock, those for which there are the tools
	@$(PYTHON) -m scripts.stock
matrix: peer environment stock ## carry out all conformance cases and write conformance/matrix.md
	@env -u PYTHONPATH TRUNKCALL_PAIRS=all build/python/bin/python -W error -m conformance.runner --write

.PHONY: faults soak
faults: peer environment registries ## bring about every fault of conformance/faults in full, for all pairs of languages
	@$(LANGUAGE) build registries
	@TRUNKCALL_FAULTS=full TRUNKCALL_PAIRS=all build/python/bin/python -W error -m pytest -v -n 4 --dist worksteal conformance/test_faults_*.py
soak: peer environment ## mixed load with resets and restarts for SOAK (10m), fails if anything is kept; client=python, server=python: not in Go
	@build/python/bin/python -m conformance.faults.soak --for='$(SOAK)' $(foreach role,client server,$(if $($(role)),--$(role)='$($(role))'))

.PHONY: fuzz
fuzz: needs ## run each fuzz target for FUZZTIME (60s)
	@$(PYTHON) -m scripts.test --fuzz='$(FUZZTIME)'

.PHONY: vectors generate api reference fmt lint
vectors: needs ## derive the vectors anew from their cases, then replay them
	@$(PYTHON) spec/vectors/derive.py
	@$(LANGUAGE) vectors
generate: needs ## generate the Protobuf code anew
api: needs ## write down the public surfaces, such as go/api.txt
reference: needs ## make the references of the APIs under build/reference
generate api reference:
	@$(LANGUAGE) $@
fmt: needs ## format the sources
	@$(LANGUAGE) format
lint: needs ## the checks of `make test`, and what takes longer
	@$(PYTHON) -m scripts.test --only 'check '
	@$(LANGUAGE) lint
lint-%: needs-%
	@$(PYTHON) -m scripts.test --language $* --only 'check '
	@$(ONE) lint
fmt-%: needs-%
	@$(ONE) format
vectors-%: needs-%
	@$(ONE) vectors
generate-%: needs-%
	@$(ONE) generate
api-%: needs-%
	@$(ONE) api
reference-%: needs-%
	@$(ONE) reference
test-%:
	@sh scripts/prerequisites.sh --tests $*
	@$(PYTHON) -m scripts.test --language $*

.PHONY: bench results
bench: needs ## measure beside the peers: nine hours, see lab/README.md
	@$(LANGUAGE) build peer peers peers-tests
	@for config in $(filter-out lab/targets.toml,$(wildcard lab/*.toml)); do $(PYTHON) lab/run.py --where-possible "$$config" || exit; done
bench-%: needs
	@$(LANGUAGE) build peer peers peers-tests
	@$(PYTHON) lab/run.py lab/$*.toml
results: ## write lab/RESULTS.md and README.md's table from RUNS (all in build/lab)
	@$(PYTHON) lab/results.py $(RUNS)

.PHONY: clean
clean: ## remove build/, and what languages leave beside it
	@$(LANGUAGE) clean
	@rm -rf build
