#!/bin/sh
# Searches the models exhaustively within bounds, and shows that each planted
# mistake is found by the expected check.
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
# check that must fail: NAME of an assertion broken_NAME of the models, or progress
# (a process waits forever). MODEL+cycles also searches for cycles, which are steps
# that can be repeated forever.
if [ "${1:-}" = one ]; then
	tmp=$2 spin=$3 expected=$4 model=${5%+cycles} cycles=${5#"${5%+cycles}"} name=$6
	shift 6
	kind=-DSAFETY options= compiler=-O0
	[ -z "$cycles" ] || { kind=-DNP; options=-l; }
	# The model with a clock runs until its time is over, and may end in any state.
	[ "$model" != forget ] || options="$options -E"
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
	# Statements that no search has reached were not checked. The exits of a crashing process are left out.
	if [ "$got" = ok ] && [ "$model" != forget ] && [ "${*#*BUG}" = "$*" ]; then
		awk '/^unreached in/ { p = $4 } /, state [0-9]+, / && !/"\(dead\[p\]\)"/ { sub(/^[^:]*:/, ""); sub(/, state [0-9]+/, ""); print p " " $0 }' out |
			sort -u >"$tmp/unreached.$model.$name"
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
ok queuelock 2-processes-nested-late -DN=2 -DEXISTS=0 -DNESTED=3 -DDUP=1
ok queuelock 2-processes-nested-and-seed-lost -DN=2 -DEXISTS=0 -DNESTED=2 -DLOST=1 -DGIVEUP=1
ok queuelock direct-3 -DN=3 -DDIRECT=7
ok queuelock direct-3-sweep -DN=3 -DDIRECT=7 -DSWEEP=1
ok queuelock direct-2-late -DN=2 -DDIRECT=3 -DDUP=1
ok queuelock direct-2-evict -DN=2 -DDIRECT=3 -DEVICT=1
ok queuelock direct-2-lost-crash -DN=2 -DDIRECT=3 -DLOST=1 -DCRASH=1
ok queuelock direct-2-lost-give-up -DN=2 -DDIRECT=3 -DLOST=1 -DGIVEUP=1
ok queuelock direct-2-sweep-give-up -DN=2 -DDIRECT=3 -DSWEEP=1 -DGIVEUP=1
ok queuelock pass-3-sweep -DN=3 -DPASS=1 -DSWEEP=1
ok queuelock pass-2-two-turns -DN=2 -DCYCLES=2 -DPASS=1
ok queuelock pass-2-late-give-up -DN=2 -DPASS=1 -DDUP=1 -DGIVEUP=1
ok queuelock pass-2-lost-give-up -DN=2 -DPASS=1 -DLOST=1 -DGIVEUP=1
ok queuelock pass-2-evict-lost -DN=2 -DPASS=1 -DEVICT=1 -DLOST=1
ok queuelock pass-2-lost-crash -DN=2 -DPASS=1 -DLOST=1 -DCRASH=1
ok forget forget -DN=2
ok forget forget-earlier-record -DEXISTS=1
ok forget forget-without-granted -DEXISTS=4
ok forget forget-deleted -DDROP=1
ok forget forget-older-falling -DDROP=1 -DOLD=1 -DFORGET=0 -DFALLING -DDIRECT
ok modes readers-3 -DN=3 -DREADERS=5
ok modes readers-2-crash-lost -DN=2 -DREADERS=1 -DCRASH=1 -DLOST=1
ok modes readers-3-evict -DN=3 -DREADERS=5 -DEVICT=1
ok modes readers-3-sweep -DN=3 -DREADERS=6 -DSWEEP=1
ok modes readers-2-late-late -DN=2 -DREADERS=1 -DDUP=2
ok modes readers-2-two-turns-lost -DN=2 -DREADERS=2 -DCYCLES=2 -DLOST=1 -DGIVEUP=1
ok modes readers-2-older-record -DN=2 -DREADERS=1 -DEXISTS=3 -DLOST=1
ok modes readers-2-older-writer -DN=2 -DREADERS=2 -DOLD=1
ok modes+cycles readers-2-no-cycle -DN=2 -DREADERS=1 -DEVICT=1 -DSWEEP=1
ok modes semaphore-3 -DN=3 -DPERMITS=2
ok modes semaphore-3-sweep -DN=3 -DPERMITS=2 -DSWEEP=1
ok modes semaphore-2-late -DN=2 -DPERMITS=2 -DDUP=1 -DEVICT=1
ok modes downgrade-3 -DN=3 -DREADERS=4 -DDOWN=1
ok modes downgrade-2-late-lost-beat -DN=2 -DREADERS=2 -DDOWN=1 -DDUP=1 -DLOST=1 -DHB=1
ok modes closed-3 -DN=3 -DCLOSED=7
ok modes closed-2-late-late -DN=2 -DCLOSED=3 -DDUP=2
ok modes closed-2-late-evict-give-up -DN=2 -DCLOSED=3 -DDUP=1 -DEVICT=1 -DGIVEUP=1
ok modes closed-2-lost-crash -DN=2 -DCLOSED=3 -DLOST=1 -DCRASH=1
ok modes closed-2-operator-beat -DN=2 -DCLOSED=3 -DOPER=1 -DHB=1 -DLOST=1
ok modes resume-2-late -DN=2 -DRESUMERS=1 -DDUP=1 -DONCE
ok modes resume-2-lost -DN=2 -DRESUMERS=1 -DLOST=1
ok modes resume-twice-downgrade -DN=2 -DREADERS=2 -DDOWN=1 -DRESUMERS=2
ok modes resume-closed-lost-evict -DN=2 -DCLOSED=1 -DRESUMERS=1 -DLOST=1 -DEVICT=1
ok modes resume-place-lost-sweep -DN=2 -DRESUMERS=1 -DPLACE -DLOST=1 -DSWEEP=1
ok modes resume-place-twice -DN=2 -DRESUMERS=2 -DPLACE
ok modes item-2-late-late -DN=2 -DUPD=1 -DDUP=2
ok modes item-2-lost-lost-evict-beat -DN=2 -DUPD=1 -DLOST=2 -DEVICT=1 -DHB=1
ok modes item-2-lost-crash -DN=2 -DUPD=3 -DLOST=1 -DCRASH=1
ok modes item-2-recreated-lost-evict -DN=2 -DUPD=3 -DDROP=1 -DLOST=1 -DEVICT=1
ok modes item-2-recreated-late -DN=2 -DUPD=1 -DDROP=1 -DDUP=1
ok outcomes marks-lost-beat -DLOST=2 -DCALLS=2 -DHB=1
ok outcomes marks-again-late-condition -DAGAIN=1 -DLOST=1 -DDUP=1 -DCALLS=2 -DCOND=2
ok outcomes marks-lost-late-beat -DLOST=1 -DDUP=1 -DCALLS=2 -DHB=1
ok outcomes marks-2-permits-lost-late -DROOM=2 -DLOST=1 -DDUP=1 -DCALLS=2 -DRESUME=1
ok outcomes marks-2-permits-recreated -DROOM=2 -DLOST=1 -DDROP=1 -DORPHAN=1 -DCALLS=2
ok outcomes marks-resume-recreated-orphan -DLOST=1 -DHB=1 -DRESUME=1 -DDROP=1 -DORPHAN=1 -DDUP=1
ok outcomes marks-by-hand -DHAND=1 -DLOST=1 -DIDS=0
ok outcomes numbers-late-lost -DTRANS=2 -DDUP=1 -DLOST=1 -DRESUME=1
ok outcomes numbers-token-forgotten -DTRANS=2 -DLOST=1 -DDUP=1 -DTOKENS -DFORGET=1
ok outcomes numbers-token-again -DTRANS=2 -DLOST=1 -DAGAIN=1 -DTOKENS -DFORGET=1
ok outcomes numbers-2-permits -DROOM=2 -DTRANS=1 -DLOST=1 -DAGAIN=1 -DTOKENS -DFORGET=1
ok scopes scope-3 -DN=3 -DQ=1
ok scopes scope-2-late-late -DN=2 -DQ=1 -DDUP=2
ok scopes scope-2-counter-lost -DN=2 -DQ=1 -DLOSTCOUNTER=1 -DLOST=1
ok scopes several-2-late -DN=2 -DDUP=1
ok scopes several-2-lost-give-up -DN=2 -DLOST=1 -DGIVEUP=1
ok scopes several-2-crash-sweep -DN=2 -DCRASH=1 -DSWEEP=1
ok scopes several-2-evict -DN=2 -DEVICT=1
ok scopes+cycles several-2-no-cycle -DN=2 -DEVICT=1
ok scopes several-3-one-each -DN=3 -DONLY0=2 -DONLY1=4
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
overtaking queuelock BUG_RESET_UNGRANTED -DN=3 -DGIVEUP=1 -DBUG_RESET_UNGRANTED
reset queuelock BUG_NO_RESET -DN=2 -DBUG_NO_RESET
judged queuelock BUG_SWEEP_UNCONDITIONAL -DN=3 -DSWEEP=1 -DWHB=1 -DBUG_SWEEP_UNCONDITIONAL
judged queuelock BUG_EVICT_UNCONDITIONAL -DN=2 -DEVICT=1 -DHB=1 -DBUG_EVICT_UNCONDITIONAL
rowkept queuelock BUG_NO_REENQUEUE -DN=3 -DSWEEP=1 -DBUG_NO_REENQUEUE
exclusion modes BUG_READER_NO_MODE -DN=3 -DREADERS=1 -DBUG_READER_NO_MODE
exclusion modes BUG_WRITER_JOINS -DN=3 -DREADERS=1 -DBUG_WRITER_JOINS
exclusion modes BUG_ONE_TOO_MANY -DN=3 -DPERMITS=2 -DBUG_ONE_TOO_MANY
exclusion modes BUG_MODE_STAYS -DN=2 -DREADERS=2 -DCYCLES=2 -DBUG_MODE_STAYS
exclusion modes OLDER-version -DN=2 -DREADERS=2 -DCYCLES=2 -DOLD=1
exclusion modes BUG_READER_NAMES -DN=2 -DREADERS=2 -DOLD=1 -DBUG_READER_NAMES
fifo modes BUG_READER_SKIPS -DN=3 -DREADERS=6 -DBUG_READER_SKIPS
judged modes BUG_FAST_NO_SIZE -DN=3 -DREADERS=7 -DBUG_FAST_NO_SIZE
fencing modes BUG_CLAIM_NO_GRANTED-modes -DN=3 -DPERMITS=2 -DBUG_CLAIM_NO_GRANTED
ok modes BUG_CLAIM_NO_SERVINGAFTER-modes -DN=3 -DREADERS=5 -DBUG_CLAIM_NO_SERVINGAFTER
ended modes BUG_NO_TICKET -DN=2 -DREADERS=3 -DDUP=2 -DBUG_NO_TICKET
known modes BUG_HELD_NARROW -DN=2 -DREADERS=2 -DDOWN=1 -DHB=1 -DLOST=1 -DBUG_HELD_NARROW
fence modes BUG_FENCE_WIDE -DN=2 -DREADERS=2 -DDOWN=1 -DDUP=1 -DBUG_FENCE_WIDE
exclusion modes BUG_DOWN_NO_HELD -DN=2 -DREADERS=2 -DCYCLES=2 -DDOWN=1 -DDUP=1 -DONCE -DBUG_DOWN_NO_HELD
ok modes BUG_DOWN_NO_SIZE -DN=2 -DREADERS=2 -DDOWN=1 -DLOST=1 -DDUP=1 -DBUG_DOWN_NO_SIZE
alone modes BUG_DOWN_BELIEF -DN=2 -DREADERS=2 -DDOWN=1 -DLOST=1 -DBUG_DOWN_BELIEF
progress modes BUG_CLAIM_CONFIRMED -DN=2 -DCLOSED=3 -DDUP=1 -DGIVEUP=1 -DBUG_CLAIM_CONFIRMED
ended modes BUG_CONFIRM_NO_TICKET -DN=2 -DCLOSED=1 -DDUP=2 -DBUG_CONFIRM_NO_TICKET
ok modes BUG_CONFIRM_NO_BEAT -DN=2 -DCLOSED=3 -DDUP=1 -DEVICT=1 -DBUG_CONFIRM_NO_BEAT
confirm modes BUG_EVICT_UNCONDITIONAL-closed -DN=2 -DCLOSED=1 -DEVICT=1 -DBUG_EVICT_UNCONDITIONAL
confirm modes BUG_EVICT_CONFIRMED -DN=2 -DCLOSED=1 -DEVICT=1 -DBUG_EVICT_CONFIRMED
left modes BUG_FORGET_BEFORE_CONFIRM -DN=2 -DCLOSED=3 -DDUP=1 -DEVICT=1 -DGIVEUP=1 -DONCE -DBUG_FORGET_BEFORE_CONFIRM
progress modes CUT-closed -DN=2 -DCLOSED=1 -DLOST=1 -DGIVEUP=1 -DCUT=1
ended modes BUG_RESUME_NO_HELD -DN=2 -DRESUMERS=1 -DBUG_RESUME_NO_HELD
ended modes BUG_RESUME_NO_TICKET -DN=2 -DRESUMERS=1 -DDUP=1 -DBUG_RESUME_NO_TICKET
exclusion modes BUG_RESUME_NO_REMOVE -DN=2 -DRESUMERS=1 -DBUG_RESUME_NO_REMOVE
exclusion modes BUG_RESUME_HANDLE_MODE -DN=2 -DREADERS=2 -DDOWN=1 -DRESUMERS=1 -DBUG_RESUME_HANDLE_MODE
confirm modes BUG_RESUME_PROVISIONAL -DN=2 -DCLOSED=1 -DRESUMERS=1 -DEVICT=1 -DBUG_RESUME_PROVISIONAL
resume modes BUG_PLACE_NO_ID -DN=2 -DRESUMERS=2 -DPLACE -DBUG_PLACE_NO_ID
written modes BUG_UPD_NO_TICKET -DN=2 -DUPD=1 -DDUP=2 -DBUG_UPD_NO_TICKET
written modes BUG_UPD_NO_HELD -DN=2 -DUPD=1 -DDUP=2 -DONCE -DBUG_UPD_NO_HELD
overtaking modes BUG_UPD_FAST_NO_IDLE -DN=2 -DUPD=1 -DBUG_UPD_FAST_NO_IDLE
reported modes BUG_NO_CALL-modes -DN=2 -DUPD=1 -DLOST=2 -DBUG_NO_CALL
reported modes BUG_FAST_NO_MARK-modes -DN=2 -DUPD=1 -DLOST=1 -DBUG_FAST_NO_MARK
reported modes BUG_EVICT_NO_MARK-modes -DN=2 -DUPD=1 -DLOST=1 -DEVICT=1 -DBUG_EVICT_NO_MARK
ok modes BUG_CLAIM_NO_COUNTER -DN=2 -DUPD=3 -DDROP=1 -DLOST=1 -DBUG_CLAIM_NO_COUNTER
reported outcomes BUG_FAST_NO_MARK -DLOST=1 -DBUG_FAST_NO_MARK
reported outcomes BUG_EVICT_NO_MARK -DLOST=1 -DBUG_EVICT_NO_MARK
reported outcomes BUG_RESUME_NO_MARK -DLOST=1 -DRESUME=1 -DBUG_RESUME_NO_MARK
rare outcomes BUG_SEED_NO_MARK -DLOST=1 -DBUG_SEED_NO_MARK
rare outcomes BUG_TAKE_NO_MARK -DLOST=1 -DBUG_TAKE_NO_MARK
reported outcomes BUG_NO_CALL -DLOST=1 -DCALLS=2 -DBUG_NO_CALL
reported outcomes BUG_WHICH -DDUP=1 -DCALLS=2 -DCOND=2 -DBUG_WHICH
reported outcomes BUG_ORDER -DHAND=1 -DIDS=1 -DBUG_ORDER
reported outcomes BUG_ABSENT -DLOST=1 -DDROP=1 -DBUG_ABSENT
reported outcomes BUG_SEEN_LATE -DLOST=1 -DCALLS=2 -DBUG_SEEN_LATE
reported outcomes BUG_ID_ALONE -DLOST=1 -DORPHAN=1 -DBUG_ID_ALONE
reported outcomes BUG_RELEASE_NO_TICKET -DLOST=1 -DORPHAN=1 -DNO_RARE -DBUG_RELEASE_NO_TICKET
reported outcomes BUG_EVICT_NO_TICKET -DLOST=1 -DORPHAN=1 -DNO_RARE -DBUG_EVICT_NO_TICKET
reported outcomes BUG_REMOVE -DLOST=1 -DCALLS=2 -DBUG_REMOVE
reported outcomes BUG_COUNT -DAGAIN=1 -DBUG_COUNT
reported outcomes BY-HAND-and-others -DHAND=1 -DIDS=1
reported outcomes OLDER-version-marks -DLOST=1 -DOLD=1
written outcomes BUG_TOKEN_ALONE -DLOST=1 -DTRANS=2 -DTOKENS -DFORGET=1 -DBUG_TOKEN_ALONE
reported outcomes BUG_EVICT_NO_MADE -DLOST=1 -DTRANS=1 -DBUG_EVICT_NO_MADE
reported outcomes BUG_RESUME_NO_MADE -DLOST=1 -DTRANS=1 -DRESUME=1 -DBUG_RESUME_NO_MADE
reported outcomes BUG_SETTLE_SAME -DLOST=1 -DTRANS=1 -DDUP=1 -DBUG_SETTLE_SAME
reported outcomes NO-TOKEN-again -DTRANS=1 -DAGAIN=1
fencing scopes BUG_ENTER_NO_LESS -DN=2 -DQ=1 -DBUG_ENTER_NO_LESS
fifo scopes BUG_ENQUEUE_FIRST -DN=2 -DQ=1 -DBUG_ENQUEUE_FIRST
tickets scopes ORDERS-differ -DN=2 -DORDERS=1
progress scopes BUG_KEEP_HELD -DN=2 -DBUG_KEEP_HELD
attempts scopes BUG_FLOOR-scopes -DN=3 -DQ=1 -DBUG_FLOOR
ok scopes BUG_CLAIM_NO_SERVINGAFTER-scopes -DN=3 -DQ=1 -DBUG_CLAIM_NO_SERVINGAFTER
fencing scopes BUG_FLOOR+CLAIM_NO_SERVINGAFTER-s -DN=3 -DQ=1 -DBUG_FLOOR -DBUG_CLAIM_NO_SERVINGAFTER
belief queuelock BUG_NAME_AGAIN -DN=2 -DCYCLES=2 -DDIRECT=3 -DEVICT=1 -DBUG_NAME_AGAIN
belief queuelock BUG_NAME_NO_ROW -DN=2 -DCYCLES=2 -DDIRECT=3 -DBUG_NAME_NO_ROW
belief queuelock BUG_NAME_ROW_EARLY -DN=2 -DCYCLES=2 -DDIRECT=3 -DLOST=1 -DBUG_NAME_ROW_EARLY
fifo queuelock BUG_NAME_NOT_NEXT -DN=3 -DDIRECT=7 -DBUG_NAME_NOT_NEXT
judged queuelock BUG_EVICT_UNCONDITIONAL-direct -DN=2 -DCYCLES=2 -DDIRECT=3 -DSWEEP=1 -DBUG_EVICT_UNCONDITIONAL
orphan queuelock BUG_DIRECT_NO_FALLBACK -DN=2 -DDIRECT=3 -DLOST=1 -DBUG_DIRECT_NO_FALLBACK
ok queuelock BUG_DIRECT_NO_HELD -DN=3 -DDIRECT=1 -DDUP=1 -DLATEONLY=oDIRECT -DBUG_DIRECT_NO_HELD
fencing queuelock BUG_DIRECT_NO_HELD+NO_GRANTED -DN=2 -DCYCLES=2 -DDIRECT=3 -DDUP=1 -DLATEONLY=oDIRECT -DBUG_DIRECT_NO_HELD -DBUG_DIRECT_NO_GRANTED
ok queuelock BUG_DIRECT_NO_GRANTED -DN=2 -DDIRECT=3 -DDUP=1 -DBUG_DIRECT_NO_GRANTED
fifo queuelock BUG_PASS_NOT_NEXT -DN=3 -DPASS=1 -DBUG_PASS_NOT_NEXT
ok queuelock BUG_PASS_NO_HELD -DN=2 -DPASS=1 -DDUP=1 -DBUG_PASS_NO_HELD
fencing queuelock BUG_PASS_NO_HELD+NO_GRANTED -DN=2 -DCYCLES=2 -DPASS=1 -DDUP=1 -DLATEONLY=oPASS -DBUG_PASS_NO_HELD -DBUG_PASS_NO_GRANTED
ok queuelock BUG_PASS_NO_GRANTED -DN=2 -DPASS=1 -DDUP=1 -DBUG_PASS_NO_GRANTED
left queuelock BUG_PASS_FORGETS -DN=2 -DPASS=1 -DLOST=1 -DGIVEUP=1 -DBUG_PASS_FORGETS
orphan queuelock BUG_PASS_NO_FALLBACK -DN=2 -DPASS=1 -DLOST=1 -DBUG_PASS_NO_FALLBACK
disowned queuelock BUG_ID_AFTER_FLOOR-direct -DN=2 -DDIRECT=3 -DBUG_ID_AFTER_FLOOR
forgotten forget BUG_TTL_STAYS -DBUG_TTL_STAYS
forgotten forget BUG_TTL_HANDOFF -DBUG_TTL_HANDOFF
fencing forget BUG_TTL_SHORT -DBUG_TTL_SHORT
fencing forget BUG_SEED_ONE -DBUG_SEED_ONE
wedged forget BUG_GRANTED_BASE -DEXISTS=4 -DBUG_GRANTED_BASE
wedged forget BUG_CLAIM_NO_COUNTER-forget -DDROP=1 -DOLD=1 -DFORGET=0 -DFALLING -DCYCLES=2 -DEND=8 -DBUG_CLAIM_NO_COUNTER
wedged forget BUG_DIRECT_NO_COUNTER -DDROP=1 -DOLD=1 -DFORGET=0 -DFALLING -DDIRECT -DBUG_DIRECT_NO_COUNTER
fencing forget GAP-3 -DDROP=1 -DGAP=3
fencing forget LATE-2 -DDROP=1 -DLATE=2
forgotten forget OLDER-version-forget -DOLD=1 -DCYCLES=2
fencing forget OLDER-version-deleted -DDROP=1 -DOLD=1 -DFORGET=0
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
ok queuelock direct-3-late-direct -DN=3 -DDIRECT=1 -DDUP=1 -DLATEONLY=oDIRECT
ok queuelock direct-2-two-turns-lost -DN=2 -DCYCLES=2 -DDIRECT=3 -DLOST=1
ok queuelock direct-3-evict -DN=3 -DDIRECT=7 -DEVICT=1
ok queuelock direct-3-sweep-late-row -DN=3 -DDIRECT=1 -DSWEEP=1 -DDUP=1 -DLATEONLY=oENQ
ok queuelock direct-3-give-up -DN=3 -DDIRECT=7 -DGIVEUP=1
ok queuelock direct-3-crash -DN=3 -DDIRECT=7 -DCRASH=1
ok queuelock direct-2-late-evict -DN=2 -DDIRECT=3 -DDUP=1 -DEVICT=1
ok queuelock direct-2-late-late -DN=2 -DDIRECT=3 -DDUP=2
ok queuelock direct-2-two-turns-evict -DN=2 -DCYCLES=2 -DDIRECT=3 -DEVICT=1
ok queuelock direct-2-two-turns-late-direct -DN=2 -DCYCLES=2 -DDIRECT=3 -DDUP=1 -DLATEONLY=oDIRECT
ok forget forget-two-turns -DCYCLES=2 -DEND=8
ok modes readers-3-crash -DN=3 -DREADERS=5 -DCRASH=1
ok modes resume-2-lost-crash -DN=2 -DRESUMERS=1 -DLOST=1 -DCRASH=1
ok modes readers-3-lost-give-up -DN=3 -DREADERS=5 -DLOST=1 -DGIVEUP=1
ok modes readers-3-late -DN=3 -DREADERS=5 -DDUP=1
ok modes readers-3-evict-beat -DN=3 -DREADERS=5 -DEVICT=1 -DHB=1
ok modes semaphore-3-evict -DN=3 -DPERMITS=2 -DEVICT=1
ok modes semaphore-3-late -DN=3 -DPERMITS=2 -DDUP=1
ok modes semaphore-3-lost-crash -DN=3 -DPERMITS=2 -DLOST=1 -DCRASH=1
ok modes semaphore-3-closed-late -DN=3 -DPERMITS=2 -DCLOSED=7 -DDUP=1
ok modes downgrade-3-late -DN=3 -DREADERS=4 -DDOWN=1 -DDUP=1
ok modes closed-3-late -DN=3 -DCLOSED=7 -DDUP=1
ok modes item-3-recreated-lost -DN=3 -DUPD=1 -DDROP=1 -DLOST=1
ok outcomes marks-2-permits-all -DROOM=2 -DIDS=4 -DLOST=1 -DCALLS=2 -DHB=1 -DRESUME=1 -DDROP=1 -DORPHAN=1
ok outcomes numbers-lost-lost-late -DTRANS=2 -DLOST=2 -DDUP=1 -DTOKENS -DFORGET=1
ok modes resume-semaphore-late -DN=2 -DPERMITS=2 -DRESUMERS=2 -DDUP=1
ok scopes scope-3-late -DN=3 -DQ=1 -DDUP=1
ok scopes scope-3-counter-lost -DN=3 -DQ=1 -DLOSTCOUNTER=1
ok scopes several-3 -DN=3
ok scopes several-3-two-and-one -DN=3 -DONLY1=4
ok scopes several-2-late-evict -DN=2 -DDUP=1 -DEVICT=1
ok scopes several-2-two-turns-lost -DN=2 -DCYCLES=2 -DLOST=1
LIST

printf '%-36s %10s %6s %8s  %s\n' name states depth seconds result
if [ $mode != large ]; then
	xargs -P 2 -L 1 sh "$self" one "$tmp" "$spin" <"$tmp/quick"
	# Statements of the model that no search without a planted mistake has reached.
	for model in queuelock modes outcomes scopes; do
		sort "$tmp/unreached.$model".* | uniq -c |
			awk -v m=$model -v n="$(ls "$tmp/unreached.$model".* | wc -l)" '$1 == n { sub(/^ *[0-9]+ /, ""); print m " " $0 }'
	done >"$tmp/never"
	if [ -n "${COVERAGE:-}" ]; then cp "$tmp/never" "$COVERAGE"; fi
fi
[ $mode = quick ] || HASH=26 COLLAPSE=1 xargs -L 1 sh "$self" one "$tmp" "$spin" <"$tmp/large"
if [ -s "$tmp/bad" ]; then
	echo "deviations:"; cat "$tmp/bad"
	exit 1
fi
