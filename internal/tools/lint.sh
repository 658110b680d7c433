#!/bin/sh
# Checks the source and the dependencies: gofmt, vet, golangci-lint, "go mod verify" and
# "go mod tidy" for each module of the repository, the workflows, the limits of "make measure", and the licences of what
# the library and the command link, on each platform. It downloads modules and nothing else.
#
#	lint.sh VERSION-OF-GOLANGCI-LINT VERSION-OF-GO-LICENSES VERSION-OF-ACTIONLINT
set -eu
cd "$(dirname "$0")/../.."
go=${GO:-go}
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT

unformatted=$(gofmt -l $(git ls-files -co --exclude-standard '*.go'))
[ -z "$unformatted" ] || { echo "not gofmt'd: $unformatted" >&2; exit 1; }

golangci=github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$1
GOBIN=$bin $go install "github.com/google/go-licenses@$2"

# What shellcheck says depends on whether it is installed: it is left out.
$go run "github.com/rhysd/actionlint/cmd/actionlint@$3" -shellcheck= .github/workflows/*.yml examples/deploys/*.yml
GOBIN=$bin $go install "$golangci"
sh internal/tools/each.sh sh -c "$go vet ./... && '$bin/golangci-lint' run ./... && $go mod verify"
GO=$go sh internal/tools/tidy.sh

# What is counted in the source is at its limit, or hardly below. "make measure" lists what adds to each value.
$go run ./internal/tools/measure -quick -strict >"$bin/log" || { cat "$bin/log"; grep -E 'exceeded|lower the limit' "$bin/log"; exit 1; } >&2

# The licences of others ask no more than a notice in what is shipped. Add one here only after reading it. Our own is not in
# the folder of each module.
allowed=Apache-2.0,BSD-2-Clause,BSD-3-Clause,ISC,MIT
packages=$($go list work | grep -Ev '/(examples|internal|test)(/|$)')
for os in linux darwin windows; do
	# shellcheck disable=SC2086
	if ! GOOS=$os CGO_ENABLED=0 "$bin/go-licenses" check --ignore github.com/queuelock/queuelock --allowed_licenses=$allowed $packages >"$bin/log" 2>&1; then
		cat "$bin/log" >&2
		exit 1
	fi
	echo "licences for $os: all of $allowed"
done
