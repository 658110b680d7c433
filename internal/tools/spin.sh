#!/bin/sh
# spin.sh prints the path of the spin model checker that docs/spec/run.sh uses: 6.5.2, of the PATH if that is it, else
# under .tools/ at the root of the checkout:
#
#   .tools/spin-6.5.2+dfsg-1/usr/bin/spin    out of the Debian package, whose sha256 is pinned below. Ubuntu builds its own,
#                                            which apt-get checks by the signature of its lists
#
# No root is needed: apt-get only fetches the archive, and no script of the package is run. Running it again is safe.
# Interrupted at any point, it leaves either the whole or none.
set -eu

cd "$(dirname "$0")/../.."
tools=$PWD/.tools
version=6.5.2+dfsg-1
sha256=55452ba139bae09a165363fdee18fe496913b4ae441d122280fbcbb48556502f

fail() {
	echo "spin.sh: $*" >&2
	exit 1
}

if command -v spin >/dev/null && spin -V | grep -q '^Spin Version 6\.5\.2 '; then
	command -v spin
	exit
fi
there=$tools/spin-$version/usr/bin/spin
if [ -x "$there" ]; then
	echo "$there"
	exit
fi

by_hand="install spin $version, by 'apt-get install spin' as root, or from its authors"
[ "$(uname -s) $(uname -m)" = 'Linux x86_64' ] || fail "spin is pinned for Linux on x86-64 only: $by_hand"
for tool in apt-get dpkg-deb sha256sum; do
	command -v $tool >/dev/null || fail "spin is missing, and so is $tool, by which it would be fetched: $by_hand"
done
mkdir -p "$tools"
work=$(mktemp -d "$tools/tmp.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# Lists of packages may be missing or old on a fresh machine; to renew them takes root.
package=spin
! grep -qx 'ID=debian' /etc/os-release || package=spin=$version
fetch() { (cd "$work" && apt-get download "$package" >>apt.log 2>&1); }
fetch || { [ "$(id -u)" = 0 ] && apt-get update >>"$work/apt.log" 2>&1 && fetch; } || {
	cat "$work/apt.log" >&2
	fail "apt-get could not fetch $package. If its lists are missing, run 'apt-get update' as root; or $by_hand"
}
set -- "$work"/spin_*.deb
[ -f "$1" ] || fail "apt-get delivered no archive of spin"
got=$(sha256sum <"$1")
[ $package = spin ] || [ "${got%% *}" = "$sha256" ] || fail "the sha256 of spin $version is not the one that is pinned: ${got%% *}"
dpkg-deb -x "$1" "$work/package" || fail "the archive of spin could not be unpacked"
"$work/package/usr/bin/spin" -V | grep -q '^Spin Version 6\.5\.2 ' || fail "the archive of spin does not hold spin 6.5.2"
# Another run may have been faster, and installed the same bytes.
if [ ! -x "$there" ]; then
	rm -rf "${tools:?}/spin-$version"
	mv "$work/package" "$tools/spin-$version"
fi
echo "$there"
