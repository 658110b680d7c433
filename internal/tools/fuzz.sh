#!/bin/sh
# fuzz.sh DURATION runs every fuzz target of the module for that long, one after the other.
set -eu
cd "$(dirname "$0")/../.."
for file in $(git ls-files -co --exclude-standard '*_test.go' | xargs grep -l '^func Fuzz'); do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "$file $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" "./$(dirname "$file")"
	done
done
