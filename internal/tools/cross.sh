#!/bin/sh
# Builds and vets the command line and the public packages, those of otelqueuelock too, for each
# platform that they support. The tests are left out: "make vet" has them, and they need Unix.
# "cross.sh list" prints the packages. PLATFORMS="darwin/arm64 windows/amd64" names some.
set -eu

cd "$(dirname "$0")/../.."
go=${GO:-go}
export GOGC=400 # fewer collections in the compiler
module=$(GOWORK=off $go list -m)
packages=$($go list work | grep -Ev "^$module/(examples|internal|test)(/|\$)")
nested=$(GOWORK=off $go list -C otelqueuelock -find ./...)
[ "${1-}" != list ] || { printf '%s\n' $packages $nested; exit; }

host=$($go env GOHOSTOS)/$($go env GOHOSTARCH)

# An overlay in which the files of tests do not exist.
overlay=$(mktemp)
trap 'rm -f "$overlay"' EXIT
{
	printf '{"Replace":{'
	git ls-files -co --exclude-standard '*_test.go' | sed "s|.*|\"$PWD/&\":\"\"|" | paste -sd, -
	printf '}}'
} >"$overlay"

checked=0
for os in linux darwin windows; do
	for arch in amd64 arm64; do
		case " ${PLATFORMS:-$os/$arch} " in *" $os/$arch "*) echo "$os/$arch" && checked=$((checked + 1)) ;; *) continue ;; esac
		# What is built is not run, and so not optimized. The host's has been built by others.
		quick='-gcflags=all=-N -l -dwarf=false' cgo=0
		[ $os/$arch != "$host" ] || quick=-gcflags= cgo=$($go env CGO_ENABLED)
		export CGO_ENABLED="$cgo"
		GOOS=$os GOARCH=$arch $go build "$quick" -ldflags=-w -o /dev/null ./cmd/queuelock
		# shellcheck disable=SC2086
		GOOS=$os GOARCH=$arch $go vet "$quick" -overlay="$overlay" $packages ./internal/child
		# shellcheck disable=SC2086
		GOWORK=off GOOS=$os GOARCH=$arch $go vet -C otelqueuelock "$quick" -overlay="$overlay" $nested
	done
done
[ $checked -gt 0 ] || { echo "cross.sh: no platform is called ${PLATFORMS-}" >&2 && exit 2; }
