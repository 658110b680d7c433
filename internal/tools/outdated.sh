#!/bin/sh
# Prints what has a newer version: modules that a go.mod requires directly, Go tools that the Makefile pins, and npm
# packages. It asks the registries of Go and npm. A new major version of a module has another path, and is not found.
#
#	outdated.sh TOOL@VERSION...
#
# A question mark is in place of a version that the registry does not give. With STRICT=1 it fails if it prints another.
set -eu
cd "$(dirname "$0")/../.."
go=${GO:-go}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GOWORK=off

# Lines of "module@version file". The modules of this repository have no versions to look for.
own=$($go list -m)
git ls-files -co --exclude-standard '*go.mod' | while read -r file; do
	$go mod edit -print "$file" | awk -v own="$own" -v file="$file" '
		/^require \(/ { inside = 1; next }
		/^\)/ { inside = 0 }
		$1 == "require" { sub(/^require /, ""); single = 1 }
		(inside || single) && !/\/\/ indirect/ && index($1, own) != 1 { print $1 "@" $2, file }
		{ single = 0 }'
done >"$work/required"
for tool; do
	echo "$tool Makefile"
done >>"$work/required"

# One query for each, outside all modules, so that no version is chosen by another.
cut -d ' ' -f 1 "$work/required" | sort -u >"$work/queries"
(cd "$work" && GOFLAGS=-mod=mod xargs "$go" list -m -u -e -f '{{.Path}}@{{.Version}} {{with .Update}}{{.Version}}{{end}}{{with .Error}}?{{end}}' <queries >updates)
awk 'NR == FNR { update[$1] = $2; next } update[$1] { print $1, "->", update[$1], "(" $2 ")" }' "$work/updates" "$work/required" >"$work/outdated"

# npm packages: "install NAME PACKAGE@VERSION ..." in install.sh, and the dependencies of the benchmark.
{
	sed -n 's/^[[:space:]]*install [^ ]* \(@*[^ @]*@[0-9][^ ]*\) .*/\1 internal\/tools\/install.sh/p' internal/tools/install.sh
	sed -n '/"dependencies"/,/}/s/^ *"\(.*\)": "\([0-9].*\)".*/\1@\2 bench\/npm\/package.json/p' bench/npm/package.json
} | while read -r pinned file; do
	newest=$(npm view "${pinned%@*}" version)
	[ "${pinned##*@}" = "$newest" ] || echo "$pinned -> $newest ($file)"
done >>"$work/outdated"

cat "$work/outdated"
[ "$(grep -c '?' "$work/updates")" -lt "$(wc -l <"$work/updates")" ] || { echo "no registry answers" >&2 && exit 1; }
[ -z "${STRICT-}" ] || ! grep -qv -- '-> ?' "$work/outdated"
