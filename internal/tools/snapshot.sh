#!/bin/sh
# Writes the library of a revision into test/previous/testdata, for the tests that run it
# beside the present one and for "make api": the public packages and what they import,
# without tests. The same revision gives the same bytes. It needs GNU tar.
#
#	snapshot.sh REVISION       the archive, in place of the one before
#	snapshot.sh --tree FOLDER  the library of the working tree, into a folder
set -eu
cd "$(dirname "$0")/../.."

# library lists the files of the library in the module of the current folder.
library() {
	packages=$(go list ./... | grep -Ev '/(cmd|examples|internal|test)(/|$)')
	# shellcheck disable=SC2086
	go list -deps -f '{{if .Module}}{{if .Module.Main}}{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}
{{end}}{{range .IgnoredGoFiles}}{{$dir}}/{{.}}
{{end}}{{end}}{{end}}' $packages | sed -n "s|^$(pwd -P)/||p" | grep -v '_test\.go$' | LC_ALL=C sort -u
	echo go.mod
	echo go.sum
	echo LICENSE
}

if [ "$1" = --tree ]; then
	library | tar -c -T - | tar -x -C "$2"
	exit
fi

commit=$(git rev-parse --verify "$1^{commit}")
# A tag is the version. A commit without one has the name that Go would give it.
version=$(git describe --tags --exact-match "$commit" 2>/dev/null ||
	TZ=UTC git show -s --date=format-local:%Y%m%d%H%M%S --abbrev=12 --format=v0.0.0-%cd-%h "$commit")
time=$(git show -s --format=%ct "$commit")
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
git archive "$commit" | tar -x -C "$tree"
out=$PWD/test/previous/testdata
mkdir -p "$out"
rm -f "$out"/queuelock-*.tar.gz
(
	cd "$tree"
	library | tar -c -T - --owner=0 --group=0 --numeric-owner --mode=go=rX,u=rwX --mtime="@$time" --format=ustar | gzip -9n >"$out/queuelock-$version.tar.gz"
)
ls -l "$out"
