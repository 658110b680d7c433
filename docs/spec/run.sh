#!/bin/sh
# Searches the models exhaustively within bounds, and shows that each planted
# mistake is found by the check that is meant to find it.
#
#   run.sh quick    the bounded set
#   run.sh large    larger searches, one at a time; TIME (3600 s) and MEMORY (6000 MB) limit each
#   run.sh full     both
#
# Exit status 1 on any deviation, and for a search that did not finish.
set -u
here=$(cd "$(dirname "$0")" && pwd)
self=$here/$(basename "$0")

# one DIR SPIN EXPECTED MODEL NAME FLAGS...: one search. EXPECTED is ok, or the
# check that must fail: a name that the models give to an assertion (broken_NAME),
# or progress (a process waits for ever). MODEL with +cycles searches for cycles
# as well: a step that can be repeated for ever.
if [ "${1:-}" = one ]; then
	tmp=$2 spin=$3 expected=$4 model=${5%+cycles} cycles=${5#"${5%+cycles}"} name=$6
	shift 6
	kind=-DSAFETY options= compiler=-O0
	[ -z "$cycles" ] || { kind=-DNP; options=-l; }
	# The lease's model runs until its time is over, wherever it then stands.
	[ "$model" != lease ] || options="$options -E"
	[ "$expected" != ok ] || compiler=-O1
	d=$(mktemp -d "$tmp/run.XXXXXX") && cd "$d" || exit 1
	{ "$spin" -a "$@" "$here/$model.pml" && gcc "$compiler" "$kind" ${COLLAPSE:+-DCOLLAPSE} -DMEMLIM="${MEMORY:-6000}" -o pan pan.c; } >build 2>&1 ||
		{ cat build >&2; echo "$name: did not build" | tee -a "$tmp/bad"; exit 0; }
	# shellcheck disable=SC2086
	nice -n 15 timeout --foreground -s INT -k 20 "${TIME:-3600}" ./pan $options -m1000000 -w"${HASH:-22}" >out 2>&1
	states=$(awk '/states, stored/ { print $1; exit }' out)
	depth=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' out)
	seconds=$(sed -n 's/.*elapsed time \([0-9.]*\).*/\1/p' out)
	violation=$(sed -n 's/^pan:1: \(.*\) (at depth .*/\1/p' out)
	case $violation in
	'assertion violated '*broken_*) got=$(echo "$violation" | sed 's/.*broken_\([a-z]*\).*/\1/') ;;
	'invalid end state') got=progress ;;
	'non-progress cycle') got=cycle ;;
	'') got=unfinished
		if grep -q 'errors: 0' out && ! grep -Eq 'not completed|depth too small|out of memory|reached -DMEMLIM' out; then got=ok; fi ;;
	*) got=$violation ;;
	esac
	result=$got
	[ "$got" != "$expected" ] || [ "$got" = ok ] || result="fails as it must: $got"
	[ "$got" = "$expected" ] || { result="$got, expected: $expected"; echo "$name: $result" >>"$tmp/bad"; }
	printf '%-36s %10s %6s %8s  %s\n' "$name" "${states:--}" "${depth:--}" "${seconds:--}" "$result"
	# What no search reached is no part of what was checked. Escapes of a process that dies, and bookkeeping, left out.
	if [ "$got" = ok ] && [ "$model" = queuelock ] && [ "${*#*BUG}" = "$*" ]; then
		awk '/^unreached in/ { p = $4 } /, state [0-9]+, / && !/"\(dead\[p\]\)"/ { sub(/^[^:]*:/, ""); sub(/, state [0-9]+/, ""); print p " " $0 }' out |
			sort -u >"$tmp/unreached.$name"
	fi
	cd "$tmp" && rm -rf "$d"
	exit 0
fi

mode=${1:-quick}
case $mode in quick|large|full) ;; *) echo "usage: run.sh [quick|large|full]" >&2; exit 2 ;; esac
command -v gcc >/dev/null || { echo "run.sh: gcc is missing: install gcc and libc6-dev" >&2; exit 1; }
spin=$(sh "$here/../../internal/tools/spin.sh") || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM

cat >"$tmp/quick" <<'LIST'
ok queuelock 2-processes-late-evict-once -DN=2 -DDUP=1 -DEVICT=1 -DONCE
ok queuelock 3-processes -DN=3
ok queuelock 2-processes-late-late -DN=2 -DDUP=2
ok queuelock+cycles 2-processes-no-cycle -DN=2 -DEVICT=1 -DSWEEP=1 -DHB=1
ok queuelock 2-processes-two-turns -DN=2 -DCYCLES=2
ok queuelock 2-processes-seed-late -DN=2 -DEXISTS=0 -DDUP=1
ok queuelock 2-processes-seed-lost-give-up -DN=2 -DEXISTS=0 -DLOST=1 -DGIVEUP=1
ok queuelock 2-processes-lost-lost-give-up -DN=2 -DLOST=2 -DGIVEUP=1
ok queuelock 2-processes-lost-crash -DN=2 -DLOST=1 -DCRASH=1
ok queuelock 2-processes-late-give-up -DN=2 -DDUP=1 -DGIVEUP=1
ok queuelock 2-processes-evict-beats -DN=2 -DEVICT=1 -DHB=2 -DLOST=1
ok queuelock 2-processes-sweep-beats -DN=2 -DEXISTS=2 -DSWEEP=1 -DWHB=1 -DGIVEUP=1
ok queuelock 2-processes-lost-delete-crash -DN=2 -DLOSTDEL=1 -DCRASH=1
ok queuelock 2-processes-one-no-wait -DN=2 -DNOWAIT=2 -DLOST=1 -DCYCLES=2
ok queuelock 3-processes-one-no-wait -DN=3 -DNOWAIT=4
ok queuelock 2-processes-one-no-wait-crash -DN=2 -DNOWAIT=2 -DEVICT=1 -DCRASH=1
ok lease lease -DTTL=4 -DEND=10
ok queuelock BUG_TAKE_SAME_ID -DN=2 -DDUP=2 -DONCE -DBUG_TAKE_SAME_ID
ok queuelock BUG_FENCE_NO_GRANTED-once -DN=2 -DDUP=2 -DONCE -DBUG_FENCE_NO_GRANTED
fencing queuelock BUG_FENCE_NO_GRANTED-twice -DN=2 -DDUP=2 -DBUG_FENCE_NO_GRANTED
fencing queuelock BUG_TAKE_SAME_ID+FENCE_NO_GRANTED -DN=2 -DDUP=2 -DONCE -DBUG_TAKE_SAME_ID -DBUG_FENCE_NO_GRANTED
fifo queuelock STRICT_FIFO -DN=3 -DEXISTS=2 -DSTRICT_FIFO
fifo queuelock BUG_TAKE_BARGES -DN=3 -DBUG_TAKE_BARGES
progress queuelock BUG_FORGET_IDS -DN=2 -DLOST=1 -DBUG_FORGET_IDS
disowned queuelock BUG_ID_AFTER_FLOOR -DN=2 -DLOST=1 -DBUG_ID_AFTER_FLOOR
left queuelock BUG_NO_REMOVE -DN=2 -DLOST=1 -DGIVEUP=1 -DBUG_NO_REMOVE
left queuelock BUG_SDK_RETRIES -DN=3 -DDUP=1 -DGIVEUP=1 -DBUG_SDK_RETRIES
attempts queuelock BUG_FLOOR -DN=2 -DEVICT=1 -DBUG_FLOOR
ok queuelock BUG_CLAIM_NO_SERVINGAFTER -DN=2 -DEVICT=1 -DLOST=1 -DBUG_CLAIM_NO_SERVINGAFTER
fencing queuelock BUG_FLOOR+CLAIM_NO_SERVINGAFTER -DN=2 -DEVICT=1 -DBUG_FLOOR -DBUG_CLAIM_NO_SERVINGAFTER
fencing queuelock BUG_CLAIM_NO_GRANTED -DN=3 -DBUG_CLAIM_NO_GRANTED
exclusion queuelock BUG_CLAIM_NO_SIZE -DN=3 -DBUG_CLAIM_NO_SIZE
exclusion queuelock BUG_HEARTBEAT_REVIVES -DN=2 -DEVICT=1 -DHB=1 -DBUG_HEARTBEAT_REVIVES
overtaking queuelock BUG_FAST_LAST_SEEN -DN=3 -DBUG_FAST_LAST_SEEN
overtaking queuelock BUG_QUIET_UNGRANTED -DN=3 -DGIVEUP=1 -DBUG_QUIET_UNGRANTED
quiet queuelock BUG_NO_QUIET -DN=2 -DBUG_NO_QUIET
judged queuelock BUG_SWEEP_UNCONDITIONAL -DN=3 -DSWEEP=1 -DWHB=1 -DBUG_SWEEP_UNCONDITIONAL
judged queuelock BUG_EVICT_UNCONDITIONAL -DN=2 -DEVICT=1 -DHB=1 -DBUG_EVICT_UNCONDITIONAL
rowkept queuelock BUG_NO_REENQUEUE -DN=3 -DSWEEP=1 -DBUG_NO_REENQUEUE
belief lease BUG_UNTIL_BACK -DTTL=4 -DEND=10 -DBUG_UNTIL_BACK
belief lease BUG_EVICT_UNCONDITIONAL-lease -DTTL=4 -DEND=10 -DBUG_EVICT_UNCONDITIONAL
belief lease BUG_NO_BEAT -DTTL=4 -DEND=10 -DBUG_NO_BEAT
belief lease BUG_DEADLINE_FROM_ANSWER -DTTL=4 -DEND=10 -DBUG_DEADLINE_FROM_ANSWER
belief lease BUG_OBSERVED_FROM_BEFORE -DTTL=4 -DEND=10 -DBUG_OBSERVED_FROM_BEFORE
belief lease MARGIN-1 -DTTL=4 -DEND=10 -DMARGIN=1
outrun lease BUG_ENDS_FALL -DTTL=4 -DEND=10 -DBUG_ENDS_FALL
LIST
cat >"$tmp/large" <<'LIST'
ok queuelock 3-processes-give-up -DN=3 -DGIVEUP=1
ok queuelock 3-processes-crash -DN=3 -DCRASH=1
ok queuelock 3-processes-evict -DN=3 -DEVICT=1
ok queuelock 3-processes-sweep -DN=3 -DSWEEP=1
ok queuelock 3-processes-lost-delete -DN=3 -DLOSTDEL=1
ok queuelock 3-processes-lost -DN=3 -DLOST=1
ok queuelock 3-processes-late -DN=3 -DDUP=1
ok queuelock+cycles 3-processes-no-cycle -DN=3 -DEXISTS=2
ok queuelock 2-processes-two-turns-late -DN=2 -DCYCLES=2 -DDUP=1
ok queuelock 2-processes-evict-evict-lost -DN=2 -DEVICT=2 -DLOST=1
ok queuelock 2-processes-late-evict -DN=2 -DDUP=1 -DEVICT=1
LIST

printf '%-36s %10s %6s %8s  %s\n' name states depth seconds result
if [ $mode != large ]; then
	xargs -P 2 -L 1 sh "$self" one "$tmp" "$spin" <"$tmp/quick"
	# Statements of the model that no search without a planted mistake has reached.
	sort "$tmp"/unreached.* | uniq -c | awk -v n="$(ls "$tmp"/unreached.* | wc -l)" '$1 == n { sub(/^ *[0-9]+ /, ""); print }' >"$tmp/never"
	if [ -n "${COVERAGE:-}" ]; then cp "$tmp/never" "$COVERAGE"; fi
fi
[ $mode = quick ] || HASH=26 COLLAPSE=1 xargs -L 1 sh "$self" one "$tmp" "$spin" <"$tmp/large"
if [ -s "$tmp/bad" ]; then
	echo "deviations:"; cat "$tmp/bad"
	exit 1
fi
