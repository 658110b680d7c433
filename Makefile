# The targets a person needs. `make` alone lists them.
#
# The pattern "work" is all packages of the modules of go.work. The other modules, bench, otelqueuelock and
# examples/integrations, are on their own: their requirements would raise versions of what the command links.

GO      ?= go
ENGINES ?= embedded,dynoxide,dynamodb-local
CHAOS   ?= 2m
SEEDS   ?= 250
SEED    ?= 0
STATES  ?= 200000

# Tools that no go.mod has: lint of the code and of the workflows, licences, known vulnerabilities, changes of the API, the
# pages of pkg.go.dev, and the release.
GOLANGCI    = v2.15.0
ACTIONLINT  = v1.7.12
GO_LICENSES = v1.6.0
GOVULNCHECK = v1.9.0
APIDIFF     = v0.0.0-20261113113407-e3970619a1a4
PKGSITE     = v0.6.0
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
WITHOUT_RACE = ./queue ./internal/machine ./ticket ./clause ./internal/quote ./internal/testbed/conditions ./internal/testbed/search ./internal/tools/... ./test/docs ./test/pace ./test/replays

# The race detector waits a second at the end of each process for late reports. There are more than a hundred.
# GOGC=400 takes four times the memory, and an eighth of the processor time away.
.PHONY: test
test: tools fmt vet ## everything: formatting, vet, all tests with the race detector, on all engines
	GOGC=400 GORACE=atexit_sleep_ms=50 QUEUELOCK_ENGINES=$(ENGINES) $(GO) test -race -ldflags=-w -timeout 30m -p 4 \
		$$($(GO) list work | grep -vxF "$$($(GO) list $(WITHOUT_RACE) ./test/modules)")
	GOGC=400 QUEUELOCK_ENGINES=$(ENGINES) $(GO) test -short -ldflags=-w $(WITHOUT_RACE)

.PHONY: test-repeat
test-repeat: ## "make test" RUNS times (default 20), and how often each test failed
	sh internal/tools/repeat.sh $(or $(RUNS),20)

# The stories, small worlds of the search, the packages of the machines and of their driver, and the prose.
SMALL = ^(two_turns_each|three|lost|late|crash|suspended|copied|names|passes|passes,_gives_up|gives_up|heartbeats|readers|permits)$$

.PHONY: try
try: ## in half a minute: the tests that most changes fail
	$(GO) test -short ./queue ./internal/machine ./waitpolicy ./internal/member ./internal/play ./internal/handover
	$(GO) test ./internal/testbed/search -run 'TestTranscripts|TestWorlds/$(SMALL)'
	$(GO) test ./test/acquire -run '^Test(Named|CancelledWaiter|ServedTooLate|ResumeLeavesLockDelay)$$'
	$(GO) test ./test/docs -run 'Test(Words|Links|DocLinks|Tables|Imports|Layout|Attributes|Options|Kinds|Reference)'

.PHONY: quick
quick: ## all tests on the embedded engine alone, without the race detector
	QUEUELOCK_ENGINES=embedded $(GO) test work

# The packages of the library, whose tests need no Unix and no engine but the table in memory.
.PHONY: test-library
test-library: ## the tests of the library alone, on the embedded engine, on any system
	QUEUELOCK_ENGINES=embedded $(GO) test ./test/properties $$($(GO) list ./... | grep -Ev '/(examples|internal/(child|testbed|tools|workload))(/|$$)')

.PHONY: nightly
nightly: ## all long checks, one after the other, with a table at the end; PARTS="fuzz sim" makes only these
	sh internal/tools/nightly.sh $(PARTS)

.PHONY: load
load: ## what 10,000 held locks and 600 waiters cost in one process: memory, goroutines, late heartbeats
	$(GO) test -run 'TestHeld$$|TestWaiting' -v -count=1 ./test/faults

.PHONY: test-oldest
test-oldest: ## the library's tests by the Go version that go.mod names, the oldest that users may have, on the embedded engine
	GOTOOLCHAIN=go$$(sed -n 's/^go //p' go.mod) QUEUELOCK_ENGINES=embedded $(GO) test -count=1 -timeout 15m ./test/acquire ./test/hold ./test/modes ./test/properties \
		$$($(GO) list ./... | grep -Ev '/(examples|internal/(testbed|tools|workload))(/|$$)')

.PHONY: bench
bench: ## measure the requests and capacity units of docs/costs.md
	$(GO) test -run TestCosts -v -count=1 ./test/replays

.PHONY: bench-peers
bench-peers: tools bin/bench ## measure this library beside other locks for up to three hours, and write docs/benchmarks.md, its tables and pictures; BENCH="--reps 1" passes flags
	sh bench/npm/install.sh
	bin/bench --out docs $(BENCH)

.PHONY: bench-quick
bench-quick: tools bin/bench ## the same in about two minutes, with few cases, printed only
	sh bench/npm/install.sh
	bin/bench --quick $(BENCH)

.PHONY: bench-compare
bench-compare: tools bin/bench ## what can be counted of this library beside docs/benchmarks: requests, capacity units and memory, in about three minutes
	bin/bench --compare docs --subjects queuelock --reps 1 --scenarios idle,first-of-process,first-of-key,nowait,processes,goroutines,held,waiting
	bin/bench --compare docs --subjects queuelock --reps 1 --scenarios contended --case "50 ms, 8"

.PHONY: bench-test
bench-test: ## vet and test the benchmark, which is a module of its own
	export GOWORK=off && cd bench && $(GO) vet ./... && $(GO) test ./...

.PHONY: otel-test
otel-test: ## vet and test the module otelqueuelock, its dashboard and its alert rules, and the program of docs/production.md
	export GOWORK=off && cd otelqueuelock && $(GO) vet ./... && $(GO) test -count=1 ./...
	export GOWORK=off && cd examples/integrations && $(GO) vet ./production && $(GO) test -count=1 ./production

.PHONY: examples-test
examples-test: ## vet and test the examples that need other modules, in a module of their own
	export GOWORK=off && cd examples/integrations && $(GO) vet ./... && $(GO) test ./...

.PHONY: action-test
action-test: bin/queuelock ## the GitHub Action, by Node.js with the variables of a runner, against "queuelock local"
	node --test action/test/*.test.mjs

.PHONY: user-test
user-test: ## the library, the command and otelqueuelock as a user gets them, from a proxy that is made of this tree
	$(GO) test -count=1 ./test/modules

.PHONY: docs
docs: ## write the tables of docs/costs.md, docs/errors.md and docs/protocol.md, and the golden files of writes and expressions
	$(GO) test -run 'TestWrites|TestExpressions|TestCosts|TestStates|TestKinds' -count=1 ./test/docs ./test/replays -update

.PHONY: pkgsite
pkgsite: ## serve the documentation of the packages at http://127.0.0.1:8080, as pkg.go.dev shows it
	$(GO) run golang.org/x/pkgsite/cmd/pkgsite@$(PKGSITE) -http 127.0.0.1:8080 .

.PHONY: pictures
pictures: bin/queuelock ## draw docs/pictures/demo.svg by a run of the demo
	@mkdir -p docs/pictures
	bin/queuelock demo --svg docs/pictures/demo.svg

.PHONY: captures
captures: ## write docs/captures and what docs/observe.md shows of them, from the commands themselves
	$(GO) test -run TestCaptures -count=1 ./cmd/queuelock -update

.PHONY: spec
spec: ## play all interleavings of members within bounds, and find each planted mistake
	$(GO) test -count=1 -v -timeout 5h -parallel 2 ./internal/testbed/search -search.states $(STATES) -search.planted
	$(GO) test -count=1 -run TestExplore ./internal/testbed/search -search.explore
	$(GO) test -count=1 -v -run TestLease ./heartbeat -heartbeat.beats 2

.PHONY: spec-full
spec-full: ## the same without a bound: hours, and much memory
	$(GO) test -count=1 -v -timeout 10h -parallel 1 -run TestWorlds ./internal/testbed/search -search.states 0
	$(GO) test -count=1 -v -timeout 10h -run TestLease ./heartbeat -heartbeat.beats 3

.PHONY: sim
sim: ## SEEDS simulated clusters (default 250) of ten minutes each, from seed SEED on (default 0: a new one)
	$(GO) test -count=1 -timeout 5h -run 'TestSim$$|TestReplay|TestSeedsOfPastMistakes' -v ./test/sim -sim.seed $(SEED) -sim.seeds $(SEEDS) -sim.replays 10

.PHONY: sim-planted
sim-planted: ## the simulator with each of a list of mistakes planted into the library, which it must find
	$(GO) test -count=1 -timeout 60m -run TestMutants -v ./test/sim -sim.mutants

.PHONY: play-planted
play-planted: ## the driver of members with each of a list of mistakes, which its tests must find
	$(GO) test -count=1 -timeout 60m -run TestPlanted -v ./internal/play -play.planted

.PHONY: chaos
chaos: bin/chaos tools ## 16 worker processes take turns while they, the network and the engine fail, for CHAOS (default 2m)
	bin/chaos --duration $(CHAOS)

.PHONY: chaos-local
chaos-local: bin/chaos bin/queuelock ## 8 worker processes take turns while "queuelock local --file" is killed and restarted RESTARTS times (default 200)
	bin/chaos --engine bin/queuelock --restarts $(or $(RESTARTS),200) --duration 10m

.PHONY: try-planted
try-planted: ## "make try" with each of a list of mistakes, which it must find
	$(GO) test -count=1 -timeout 60m -run TestTry -v ./internal/testbed/plant -plant.try

.PHONY: chaos-planted
chaos-planted: bin/chaos tools ## the same with each of two planted mistakes, which must be found
	bin/chaos --duration 30s --plant unfenced --expect-failure
	bin/chaos --duration 20s --plant late --expect-failure

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
	$(GO) vet work

.PHONY: tidy
tidy: ## check that "go mod tidy" would change no go.mod and no go.sum
	GO=$(GO) sh internal/tools/tidy.sh

.PHONY: lint
lint: ## gofmt, vet, golangci-lint and "go mod verify" for each module, the workflows, the limits of measure, and the licences of dependencies; SKIP="bench" leaves modules out
	GO=$(GO) SKIP="$(SKIP)" sh internal/tools/lint.sh $(GOLANGCI) $(GO_LICENSES) $(ACTIONLINT)

.PHONY: vulncheck
vulncheck: ## known vulnerabilities in code that is reached; needs vuln.go.dev, or a copy of it in VULNDB
	sh internal/tools/each.sh $(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK) $(if $(VULNDB),-db $(VULNDB)) ./...

.PHONY: outdated
outdated: ## modules, pinned tools and engines that have a newer version; STRICT=1 fails if there is one
	@GO=$(GO) STRICT=$(STRICT) sh internal/tools/outdated.sh github.com/golangci/golangci-lint/v2@$(GOLANGCI) github.com/rhysd/actionlint@$(ACTIONLINT) \
		github.com/google/go-licenses@$(GO_LICENSES) golang.org/x/vuln@$(GOVULNCHECK) golang.org/x/exp@$(APIDIFF) golang.org/x/pkgsite@$(PKGSITE) \
		github.com/goreleaser/goreleaser/v2@$(GORELEASER) github.com/anchore/syft@$(SYFT) github.com/sigstore/cosign/v3@$(COSIGN)

.PHONY: api
api: ## changes of the exported API since the commit or tag SINCE (default HEAD)
	GO=$(GO) sh internal/tools/api.sh $(APIDIFF) $(or $(SINCE),HEAD)

.PHONY: cross
cross: ## build and vet the command and the public packages for Linux, macOS and Windows on amd64 and arm64; PLATFORMS="windows/amd64" names some
	GO=$(GO) PLATFORMS="$(PLATFORMS)" sh internal/tools/cross.sh

.PHONY: measure
measure: ## size, complexity and wordiness of the code, and what a turn runs, beside their limits; STRICT=1 fails if one is exceeded or can be lowered
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
	tag=$$(git describe --tags --exact-match --match 'v[0-9]*') && \
		PATH=$(CURDIR)/bin/tools:$$PATH GORELEASER_CURRENT_TAG=$$tag goreleaser release --clean

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
	$(GO) build -o $@ ./test/chaos/cmd

.PHONY: bin/bench
bin/bench:
	@mkdir -p bin
	GOWORK=off $(GO) build -C bench -ldflags "-X main.commit=$$(git describe --tags --always --dirty)" -o ../$@ .

.PHONY: clean
clean: ## remove what was built; .tools/ stays
	rm -rf bin
