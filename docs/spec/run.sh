#!/bin/sh
# Searches the model exhaustively within bounds, and shows that each planted
# mistake is found. Usage: run.sh [quick|full]. Exit status 1 on any deviation.
set -u
here=$(cd "$(dirname "$0")" && pwd)
for tool in spin gcc; do
	command -v "$tool" >/dev/null || { echo "run.sh: $tool is missing: install the Debian package $tool" >&2; exit 1; }
done

# one DIR EXPECTED NAME FLAGS...: one search. EXPECTED is ok or fails.
if [ "${1:-}" = one ]; then
	tmp=$2 expected=$3 name=$4
	shift 4
	d=$(mktemp -d "$tmp/run.XXXXXX") && cd "$d" || exit 1
	{ spin -a "$@" "$here/queuelock.pml" && gcc -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=6000 -o pan pan.c; } >build 2>&1 ||
		{ cat build >&2; echo "$name: did not build" | tee -a "$tmp/bad"; exit 0; }
	nice -n 15 ./pan -m1000000 -w22 >out 2>&1
	states=$(awk '/states, stored/ { print $1; exit }' out)
	depth=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' out)
	seconds=$(sed -n 's/.*elapsed time \([0-9.]*\).*/\1/p' out)
	got=unfinished
	if grep -q 'errors: 0' out && ! grep -Eq 'not completed|depth too small|out of memory|reached -DMEMLIM' out; then got=ok; fi
	if grep -Eq 'errors: [1-9]' out && grep -Eq 'assertion violated|invalid end state \(at' out; then got=fails; fi
	result=$got
	[ "$got" = fails ] && [ "$expected" = fails ] && result="fails as it must"
	[ "$got" = "$expected" ] || { result="$got, expected: $expected"; echo "$name: $result" >>"$tmp/bad"; }
	printf '%-44s %10s %7s %8s  %s\n' "$name" "$states" "$depth" "$seconds" "$result"
	cd "$tmp" && rm -rf "$d"
	exit 0
fi

mode=${1:-quick}
case $mode in quick|full) ;; *) echo "usage: run.sh [quick|full]" >&2; exit 2 ;; esac
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM

cat >"$tmp/list" <<'LIST'
ok 2-processes -DN=2
ok 2-processes-two-turns -DN=2 -DCYCLES=2
ok 2-processes-seed-lost-give-up -DN=2 -DEXISTS=0 -DLOST=1 -DGIVEUP=1
ok 2-processes-lost-crash -DN=2 -DLOST=1 -DCRASH=1
ok 2-processes-late -DN=2 -DDUP=1 -DGIVEUP=1
ok 2-processes-evict-sweep-beats -DN=2 -DEVICT=1 -DSWEEP=1 -DHB=1 -DWHB=1
ok 2-processes-late-evict -DN=2 -DDUP=1 -DEVICT=1
ok 2-processes-lost-row-delete-crash -DN=2 -DLOSTDEL=1 -DCRASH=1
ok 2-processes-no-wait-lost -DN=2 -DNOWAIT=2 -DLOST=1 -DCYCLES=2
ok 3-processes -DN=3
ok 3-processes-one-no-wait -DN=3 -DNOWAIT=4
LIST
[ $mode = full ] && cat >>"$tmp/list" <<'LIST'
ok 2-processes-two-turns-late -DN=2 -DCYCLES=2 -DDUP=1
ok 3-processes-give-up -DN=3 -DGIVEUP=1
ok 3-processes-crash -DN=3 -DCRASH=1
ok 3-processes-evict -DN=3 -DEVICT=1
ok 3-processes-sweep -DN=3 -DSWEEP=1
ok 3-processes-lost -DN=3 -DLOST=1
LIST
cat >>"$tmp/list" <<'LIST'
fails BUG_FAST_LAST_SEEN -DN=3 -DBUG_FAST_LAST_SEEN
fails BUG_QUIET_UNGRANTED -DN=3 -DGIVEUP=1 -DBUG_QUIET_UNGRANTED
fails BUG_CLAIM_NO_GRANTED -DN=3 -DBUG_CLAIM_NO_GRANTED
fails BUG_CLAIM_NO_SERVINGAFTER -DN=2 -DEVICT=1 -DBUG_FLOOR -DBUG_CLAIM_NO_SERVINGAFTER
fails BUG_CLAIM_NO_SIZE -DN=3 -DBUG_CLAIM_NO_SIZE
fails BUG_NO_REMOVE -DN=2 -DLOST=1 -DGIVEUP=1 -DBUG_NO_REMOVE
fails BUG_SWEEP_UNCONDITIONAL -DN=3 -DSWEEP=1 -DWHB=1 -DBUG_SWEEP_UNCONDITIONAL
fails BUG_EVICT_UNCONDITIONAL -DN=2 -DEVICT=1 -DHB=1 -DBUG_EVICT_UNCONDITIONAL
fails BUG_HEARTBEAT_REVIVES -DN=2 -DEVICT=1 -DHB=1 -DBUG_HEARTBEAT_REVIVES
fails BUG_TAKE_BARGES -DN=3 -DBUG_TAKE_BARGES
fails BUG_FLOOR -DN=2 -DEVICT=1 -DBUG_FLOOR
LIST

printf '%-44s %10s %7s %8s  %s\n' name states depth seconds result
xargs -P 2 -L 1 sh "$0" one "$tmp" <"$tmp/list"
if [ -s "$tmp/bad" ]; then
	echo "deviations:"; cat "$tmp/bad"
	exit 1
fi
