#!/bin/sh
# nightly.sh [PART...] makes each part of the nightly checks, all by default, one after the other. It goes on after a part
# that failed, prints a table at the end, and exits with 1 if one failed. NIGHTLY_REPORT=FILE writes the table there as
# well, in Markdown. "nightly.sh list" prints the names of the parts.
set -eu
cd "$(dirname "$0")/../.."

# The targets of the Makefile, with their variables. The matrix of .github/workflows/nightly.yml has the same parts.
since=$(git describe --tags --abbrev=0 --match "v*" 2>/dev/null || echo HEAD)
parts="
api SINCE=$since
bench-compare
bench-quick
bench-test
chaos CHAOS=10m
chaos-local
chaos-planted
cross
examples-test
fuzz FUZZTIME=2m
load
measure STRICT=1
otel-test
outdated
play-planted
quick
release
sim SEEDS=4000
sim-planted
spec STATES=10000000
test
test-oldest
try-planted
user-test
vulncheck
"
names=$(echo "$parts" | sed '/^$/d; s/ .*//')
case ${1-} in
list) echo "$names" && exit ;;
'') set -- $names ;;
esac
for name; do
	echo "$names" | grep -qxF "$name" || { echo "nightly.sh: no part $name" >&2 && exit 2; }
done

table=$(mktemp)
trap 'rm -f "$table"' EXIT
commit=$(git describe --tags --always --dirty)
{
	echo "| part | seconds | result |"
	echo "|---|---|---|"
} >"$table"
failed=0
for name; do
	line=$(echo "$parts" | grep -E "^$name( |\$)")
	echo "== make $line"
	begun=$(date +%s) result=ok
	# shellcheck disable=SC2086
	"${MAKE:-make}" $line || result=FAILED failed=1
	case $name in api | outdated) [ $result = FAILED ] || result="see its output" ;; esac
	echo "| \`make $line\` | $(($(date +%s) - begun)) | $result |" >>"$table"
done

echo "== $(date -u +%F), $commit"
cat "$table"
if [ -n "${NIGHTLY_REPORT:-}" ]; then
	mkdir -p "$(dirname "$NIGHTLY_REPORT")"
	{ echo "On $(date -u +%F), \`$commit\`:" && echo && cat "$table"; } >"$NIGHTLY_REPORT"
fi
exit $failed
