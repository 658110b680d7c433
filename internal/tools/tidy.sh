#!/bin/sh
# Checks that each go.mod and go.sum is what "go mod tidy" would write. The version of the library that a module requires may
# not be published yet: in a copy of the two files, this tree takes its place, and its checksums are left out. Folders in
# SKIP are left out, too.
set -eu
cd "$(dirname "$0")/../.."
go=${GO:-go} library=github.com/queuelock/queuelock root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GOWORK=off
failed=0
for file in $(git ls-files -co --exclude-standard '*go.mod'); do
	folder=$(dirname "$file")
	case " ${SKIP-} " in *" $folder "*) continue ;; esac
	cp "$file" "$work/go.mod"
	grep -v "^$library v" "$folder/go.sum" >"$work/go.sum"
	[ "$folder" = . ] || $go mod edit -replace "$library=$root" "$work/go.mod"
	if ! $go -C "$folder" mod tidy -modfile "$work/go.mod" -diff; then
		echo "not tidy: $file" >&2
		failed=1
	fi
done
exit $failed
