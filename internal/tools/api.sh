#!/bin/sh
# Prints how the exported API of the working tree differs from that of a revision. It fails only if it cannot compare.
set -eu
cd "$(dirname "$0")/../.."
export GOWORK=off # the API is that of the module at the root
go=${GO:-go} apidiff=golang.org/x/exp/cmd/apidiff@$1 since=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/old"
git archive "$since" | tar -x -C "$work/old"
ln -s "$PWD" "$work/new"
for side in old new; do
	(cd "$work/$side" && $go run "$apidiff" -m -w "$work/$side.api" "$($go list -m)" 2>"$work/log") || { cat "$work/log" >&2; exit 1; }
done
$go run "$apidiff" -m "$work/old.api" "$work/new.api" 2>/dev/null
