# What the makefile of a language's folder includes, behind `LANGUAGE = NAME`: there `make test` is `make test-NAME` of
# the tree, and so are the others.

TREE := $(dir $(lastword $(MAKEFILE_LIST)))..

.DEFAULT_GOAL := build

.PHONY: build environment test lint fmt vectors generate api reference bench
build environment test lint fmt vectors generate api reference bench:
	@$(MAKE) -C $(TREE) --no-print-directory $@-$(LANGUAGE)

# These are for all languages.
.PHONY: run fuzz
run fuzz:
	@$(MAKE) -C $(TREE) --no-print-directory $@
