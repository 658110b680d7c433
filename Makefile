# The targets a person needs. `make` alone lists them.

GO      ?= go
ENGINES ?= embedded,dynoxide,dynamodb-local
CHAOS   ?= 2m
SEEDS   ?= 250
STATES  ?= 1000000

GOLANGCI    = v2.15.0
ACTIONLINT  = v1.7.12
GO_LICENSES = v1.6.0
GOVULNCHECK = v1.9.0
APIDIFF     = v0.0.0-20261014143641-f0251eb4aa3e
GORELEASER  = v2.15.1
SYFT        = v1.57.1
COSIGN      = v3.1.3

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: bin/queuelock ## eight worker processes take turns, and one is killed in the middle of its own
	bin/queuelock demo

# What these hold starts no goroutine of its own (TestPure), or reads and prints. The race detector would find nothing, in
# five times the time.
WITHOUT_RACE = ./queue ./ticket ./internal/clause ./internal/quote ./internal/testbed/conditions ./internal/testbed/search ./internal/tools/... ./test/docs

# The race detector waits a second at the end of each process for late reports. There are more than a hundred.
# GOGC=400 takes four times the memory, and an eighth of the processor time away.
.PHONY: test
test: tools fmt vet ## everything: formatting, vet, all tests with the race detector, on all engines
	GOGC=400 GORACE=atexit_sleep_ms=50 QUEUELOCK_ENGINES=$(ENGINES) $(GO) test -race -ldflags=-w -timeout 15m -p 4 \
		$$($(GO) list ./... | grep -vxF "$$($(GO) list $(WITHOUT_RACE))")
	GOGC=400 QUEUELOCK_ENGINES=$(ENGINES) $(GO) test -ldflags=-w $(WITHOUT_RACE)

.PHONY: test-repeat
test-repeat: ## "make test" RUNS times (default 20), and how often each test failed
	sh internal/tools/repeat.sh $(or $(RUNS),20)

.PHONY: quick
quick: ## all tests on the embedded engine alone, without the race detector
	QUEUELOCK_ENGINES=embedded $(GO) test ./...

# The packages of the library, whose tests need no Unix and no engine but the table in memory.
.PHONY: test-library
test-library: ## the tests of the library alone, on the embedded engine, on any system
	QUEUELOCK_ENGINES=embedded $(GO) test $$($(GO) list ./... | \
		grep -Ev '/(cmd|docs|examples|test|internal/(benchmark|child|demo|testbed|tools))(/|$$)')

.PHONY: nightly
nightly: ## all long checks, one after the other, with a table at the end; PARTS="fuzz sim" makes only these
	sh internal/tools/nightly.sh $(PARTS)

.PHONY: load
load: ## what 10,000 held locks and 600 waiters cost in one process: memory, goroutines, late heartbeats
	$(GO) test -run 'TestHeld$$|TestWaiting' -v -count=1 ./test/faults

.PHONY: test-retries
test-retries: ## the tests of outages and costs by the SDK's coming rules for retries, on the embedded engine
	AWS_NEW_RETRIES_2026=true QUEUELOCK_ENGINES=embedded $(GO) test -count=1 . ./failfast ./queuelocktest \
		./internal/table ./internal/waiter/... ./internal/session ./internal/serving ./internal/counter ./internal/rows ./sweeper \
		./test/acquire ./test/hold ./test/modes ./test/faults

.PHONY: bench
bench: ## measure the requests and capacity units of docs/costs.md
	$(GO) test -run TestCosts -v -count=1 ./test/docs

.PHONY: bench-peers
bench-peers: tools bin/bench ## measure this library beside other locks for an hour, and write docs/benchmarks.md; BENCH="--reps 5" passes flags
	sh bench/npm/install.sh
	bin/bench --out docs $(BENCH)

.PHONY: bench-quick
bench-quick: tools bin/bench ## the same in about two minutes, with few cases, printed only
	sh bench/npm/install.sh
	bin/bench --quick $(BENCH)

.PHONY: bench-test
bench-test: ## vet and test the benchmark, which is a module of its own
	cd bench && $(GO) vet ./... && $(GO) test ./...

.PHONY: otel-test
otel-test: ## vet and test the module otelqueuelock, its dashboard and its alert rules
	cd otelqueuelock && $(GO) vet ./... && $(GO) test -count=1 ./...

.PHONY: examples-test
examples-test: ## vet and test the examples that need other modules, in a module of their own
	cd examples/integrations && $(GO) vet ./... && $(GO) test ./...

.PHONY: docs
docs: ## write docs/writes.md, the tables of docs/costs.md and docs/protocol.md, and the golden file of expressions
	$(GO) test -run 'TestWrites|TestExpressions|TestCosts|TestStates' -count=1 ./test/docs -update

.PHONY: pictures
pictures: bin/queuelock ## draw docs/pictures/demo.svg by a run of the demo
	@mkdir -p docs/pictures
	bin/queuelock demo --svg docs/pictures/demo.svg

.PHONY: captures
captures: ## write docs/captures and what docs/observe.md shows of them, from the commands themselves
	$(GO) test -run TestCaptures -count=1 ./cmd/queuelock -update

.PHONY: spec
spec: ## play all interleavings of the machines of package queue within bounds, and find each planted mistake
	$(GO) test -count=1 -v -timeout 5h -parallel 2 ./internal/testbed/search -search.states $(STATES)
	$(GO) test -count=1 -run TestExplore ./internal/testbed/search -search.explore
	$(GO) test -count=1 -v -run TestLease ./heartbeat -heartbeat.beats 2

.PHONY: spec-models
spec-models: ## search the models of what "make spec" does not play yet, such as transactions (needs gcc)
	sh docs/spec/run.sh quick

.PHONY: spec-full
spec-full: ## both, with larger searches: hours, and up to 6 GB of memory
	$(GO) test -count=1 -v -timeout 10h -parallel 1 -run TestWorlds ./internal/testbed/search -search.states 0
	$(GO) test -count=1 -v -timeout 10h -run TestLease ./heartbeat -heartbeat.beats 3
	sh docs/spec/run.sh full

.PHONY: sim
sim: ## SEEDS simulated clusters (default 250) of ten minutes each, of new seeds
	$(GO) test -count=1 -timeout 120m -run 'TestSim$$|TestReplay|TestSeedsOfPastMistakes' -v ./internal/testbed/sim -sim.seeds $(SEEDS) -sim.replays 10

.PHONY: sim-planted
sim-planted: ## the simulator with each of a list of mistakes planted into the library, which it must find
	$(GO) test -count=1 -timeout 60m -run TestMutants -v ./internal/testbed/sim -sim.mutants

.PHONY: chaos
chaos: bin/chaos tools ## 16 worker processes take turns while they, the network and the engine fail, for CHAOS (default 2m)
	bin/chaos --duration $(CHAOS)

.PHONY: chaos-planted
chaos-planted: bin/chaos tools ## the same with a planted mistake, which must be found
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

.PHONY: lint
lint: ## gofmt, vet, golangci-lint and "go mod verify" for each module, the workflows, and the licences of dependencies
	GO=$(GO) sh internal/tools/lint.sh $(GOLANGCI) $(GO_LICENSES) $(ACTIONLINT)

.PHONY: vulncheck
vulncheck: ## known vulnerabilities in code that is reached; needs vuln.go.dev, or a copy of it in VULNDB
	for file in $$(git ls-files '*go.mod'); do \
		(cd $$(dirname $$file) && $(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK) $(if $(VULNDB),-db $(VULNDB)) ./...) || exit 1; \
	done

.PHONY: api
api: ## changes of the exported API since the commit or tag SINCE (default HEAD)
	GO=$(GO) sh internal/tools/api.sh $(APIDIFF) $(or $(SINCE),HEAD)

.PHONY: cross
cross: ## build and vet the command and the public packages for Linux, macOS and Windows on amd64 and arm64
	GO=$(GO) sh internal/tools/cross.sh

.PHONY: measure
measure: ## size, complexity and wordiness of the code, and what a turn runs, beside their limits; STRICT=1 fails if one is exceeded
	@$(GO) run ./internal/tools/measure $(if $(STRICT),-strict)

.PHONY: release-tools
release-tools:
	GOBIN=$(CURDIR)/bin/tools $(GO) install github.com/goreleaser/goreleaser/v2@$(GORELEASER)
	GOBIN=$(CURDIR)/bin/tools $(GO) install github.com/anchore/syft/cmd/syft@$(SYFT)

.PHONY: release
release: release-tools ## build the archives of a release for six platforms, with checksums and SBOMs, into bin/release
	PATH=$(CURDIR)/bin/tools:$$PATH && goreleaser check && goreleaser release --snapshot --clean --skip=sign,docker

# It publishes: only the workflow of a tag calls it.
.PHONY: publish
publish: release-tools
	GOBIN=$(CURDIR)/bin/tools $(GO) install github.com/sigstore/cosign/$(firstword $(subst ., ,$(COSIGN)))/cmd/cosign@$(COSIGN)
	PATH=$(CURDIR)/bin/tools:$$PATH GORELEASER_CURRENT_TAG=$$(git describe --exact-match --match 'v*') goreleaser release --clean

.PHONY: man
man: bin/queuelock ## write the manual pages into bin/man
	@mkdir -p bin/man
	bin/queuelock man bin/man

.PHONY: completions
completions: bin/queuelock ## write the scripts that complete commands into bin/completions
	@mkdir -p bin/completions
	bin/queuelock completion bash >bin/completions/queuelock.bash
	bin/queuelock completion zsh >bin/completions/_queuelock
	bin/queuelock completion fish >bin/completions/queuelock.fish
	bin/queuelock completion powershell >bin/completions/queuelock.ps1

.PHONY: build
build: bin/queuelock ## build the command line into bin/

.PHONY: bin/queuelock
bin/queuelock:
	@mkdir -p bin
	$(GO) build -o $@ ./cmd/queuelock

.PHONY: bin/chaos
bin/chaos:
	@mkdir -p bin
	$(GO) build -o $@ ./internal/testbed/chaos/cmd

.PHONY: bin/bench
bin/bench:
	@mkdir -p bin
	cd bench && $(GO) build -o ../$@ .

.PHONY: clean
clean: ## remove what was built; .tools/ stays
	rm -rf bin
