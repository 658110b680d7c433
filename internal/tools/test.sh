#!/bin/sh
# Runs all tests with the race detector. The root package has half of them, which
# run one after the other: they are run in two halves, beside the other packages.
# Usage: test.sh GO [FLAG...]
set -u
go=$1
shift
half='^(Test[A-M]|Example|Fuzz)'
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT INT TERM

"$go" test -race -timeout 12m "$@" -run "$half" . >"$logs/first" 2>&1 &
first=$!
"$go" test -race -timeout 12m "$@" -skip "$half" . >"$logs/second" 2>&1 &
second=$!
root=$("$go" list .)
others=$("$go" list ./... | grep -vx "$root")
# shellcheck disable=SC2086
"$go" test -race -timeout 12m -p 1 "$@" $others
failed=$?
wait "$first" || failed=1
wait "$second" || failed=1
cat "$logs/first" "$logs/second"
exit "$failed"
