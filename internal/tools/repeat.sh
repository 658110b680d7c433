#!/bin/sh
# repeat.sh RUNS [TARGET] runs "make TARGET" (default test) that many times without the test cache, and prints how often
# each test failed. It keeps the output of runs that failed. It exits with 1 if any run did, and goes on to the last run
# all the same.
set -eu
cd "$(dirname "$0")/../.."

runs=${1:?how many runs}
target=${2:-test}
case $runs in
'' | *[!0-9]*) echo "repeat.sh: $runs: need a whole number of runs" >&2 && exit 2 ;;
esac
logs=$(mktemp -d "${TMPDIR:-/tmp}/repeat.XXXXXX")
trap 'exit 130' INT TERM HUP

# failures prints a line for each test that failed in a log, and for each package that failed without one: it did not
# build, panicked or timed out. The tests of a package stand above its own line.
failures() {
	awk '
		/^ *--- FAIL: / { tests[++n] = $3; next }
		/^panic: / || /^fatal error: / || /^WARNING: DATA RACE/ { why = $0 }
		/^(FAIL|ok)\t/ {
			for (i = 1; i <= n; i++) print $2 " " tests[i]
			if ($1 == "FAIL" && n == 0) print $2 " (" (why ? why : "no test of it") ")"
			n = 0; why = ""
		}
	' "$1" | sort -u
}

failed=0
run=0
while [ "$run" -lt "$runs" ]; do
	run=$((run + 1))
	log=$logs/run-$run.log
	if GOFLAGS="${GOFLAGS:-} -count=1" "${MAKE:-make}" "$target" >"$log" 2>&1; then
		echo "run $run of $runs: ok"
		rm -f "$log"
		continue
	fi
	failed=$((failed + 1))
	echo "run $run of $runs: FAILED, $log"
	failures "$log" | tee -a "$logs/failures" | sed 's/^/  /'
done

echo "$((runs - failed)) of $runs runs passed"
[ "$failed" -eq 0 ] && rmdir "$logs" && exit
echo "failures of each test:"
sort "$logs/failures" | uniq -c | sort -rn
exit 1
