#!/bin/sh
# Compares the exported API with that of the archive in test/previous/testdata, and prints
# the changes. Before version 1.0 an incompatible change must be listed in CHANGELOG.md, in
# the words of apidiff; from then on it fails.
set -eu
cd "$(dirname "$0")/../.."
go=${GO:-go} apidiff=golang.org/x/exp/cmd/apidiff@$1
module=$($go list -m)
archive=$(echo test/previous/testdata/queuelock-*.tar.gz)
version=${archive##*/queuelock-} version=${version%.tar.gz}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/old" "$work/new"
tar -xzf "$archive" -C "$work/old"
cp go.mod go.sum "$work/old" # so that it needs what is here
sh internal/tools/snapshot.sh --tree "$work/new"
for side in old new; do
	(cd "$work/$side" && $go run "$apidiff" -m -w "../$side.api" "$module" 2>"../$side.log") || { cat "$work/$side.log" >&2; exit 1; }
done
$go run "$apidiff" -m "$work/old.api" "$work/new.api" 2>/dev/null >"$work/all"
$go run "$apidiff" -m -incompatible "$work/old.api" "$work/new.api" 2>/dev/null | sed -n 's/^- //p' >"$work/incompatible"
echo "Since $version:"
cat "$work/all"
failed=0
while IFS= read -r change; do
	case $version in
	v0.*) grep -qF -- "$change" CHANGELOG.md || { echo "not listed in CHANGELOG.md: $change" >&2; failed=1; } ;;
	*) echo "incompatible: $change" >&2; failed=1 ;;
	esac
done <"$work/incompatible"
exit $failed
