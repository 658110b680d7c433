#!/bin/sh
# install.sh puts dynamodb-lock-client and the AWS SDK that it needs under .tools/bench at the root of the checkout, in
# the versions of package-lock.json, whose checksums npm verifies. No script of a package is run.
#
# Running it again is safe, and does nothing if the same versions are installed.
set -eu

cd "$(dirname "$0")/../.."
tools=.tools/bench

if cmp -s bench/npm/package-lock.json "$tools/installed.json"; then
	exit 0
fi
command -v npm >/dev/null || { echo "install.sh: npm is missing: install Node.js with npm" >&2; exit 1; }
mkdir -p "$tools"
rm -f "$tools/installed.json"
cp bench/npm/package.json bench/npm/package-lock.json "$tools/"
(cd "$tools" && npm ci --ignore-scripts --no-audit --no-fund)
cp bench/npm/package-lock.json "$tools/installed.json"
