# The targets a person needs. `make` alone lists them.

GO      ?= go
ENGINES ?= embedded,dynoxide,dynamodb-local
CHAOS   ?= 2m

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: bin/queuelock ## eight worker processes take turns, and one is killed in the middle of its own
	bin/queuelock demo

.PHONY: test
test: tools fmt vet ## everything: formatting, vet, all tests with the race detector, on all engines
	QUEUELOCK_ENGINES=$(ENGINES) $(GO) test -race -timeout 9m ./...

.PHONY: quick
quick: ## all tests on the embedded engine alone, without the race detector
	QUEUELOCK_ENGINES=embedded $(GO) test ./...

.PHONY: bench
bench: ## the README's table of requests and capacity units, measured anew
	$(GO) test -run TestRequestsOfTheREADME -v -count=1 .

.PHONY: spec
spec: ## search the protocol's model within bounds (needs the Debian packages spin and gcc)
	sh docs/spec/run.sh quick

.PHONY: chaos
chaos: bin/queuelock bin/chaos tools ## 16 worker processes take turns while they, the network and the engine fail, for CHAOS (default 2m)
	bin/chaos --duration $(CHAOS)

.PHONY: chaos-planted
chaos-planted: bin/queuelock bin/chaos tools ## the same with a planted mistake, which must be found
	bin/chaos --duration 30s --unfenced --expect-failure

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (default 20s)
	sh internal/tools/fuzz.sh $(or $(FUZZTIME),20s)

.PHONY: tools
tools: ## install the independent test engines under .tools/
	sh internal/tools/install.sh

.PHONY: fmt
fmt:
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt'd: $$unformatted"; exit 1; fi

.PHONY: vet
vet:
	$(GO) vet ./...

.PHONY: build
build: bin/queuelock ## build the command line into bin/

.PHONY: bin/queuelock
bin/queuelock:
	@mkdir -p bin
	$(GO) build -o $@ ./cmd/queuelock

.PHONY: bin/chaos
bin/chaos:
	@mkdir -p bin
	$(GO) build -o $@ ./internal/chaos/cmd

.PHONY: clean
clean: ## remove what was built; .tools/ stays
	rm -rf bin
