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

# A search: the check that must fail (or ok), the model, the name and the bounds. What follows # is the mistake, and after Go
# the same one in the search of the code: a condition or change that is left out of a write, a transition, or a Mistake.
# "No mistake" is a limit of the protocol: see "Known limits" in docs/failures.md.
sed 's/ *#.*//' >"$tmp/quick" <<'LIST'
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
ok queuelock BUG_TAKE_SAME_ID -DN=2 -DDUP=2 -DONCE -DBUG_TAKE_SAME_ID # one id for all attempts; FENCE asks for granted <= t, which is enough
ok queuelock BUG_FENCE_NO_GRANTED-once -DN=2 -DDUP=2 -DONCE -DBUG_FENCE_NO_GRANTED # FENCE without granted <= t; the id of each attempt is enough
fencing queuelock BUG_FENCE_NO_GRANTED-twice -DN=2 -DDUP=2 -DBUG_FENCE_NO_GRANTED # and the network repeats a TAKE that was answered
fencing queuelock BUG_TAKE_SAME_ID+FENCE_NO_GRANTED -DN=2 -DDUP=2 -DONCE -DBUG_TAKE_SAME_ID -DBUG_FENCE_NO_GRANTED # both
fifo queuelock STRICT_FIFO -DN=3 -DEXISTS=2 -DSTRICT_FIFO # no mistake: a shorter promise, see README.md
fifo queuelock BUG_TAKE_BARGES -DN=3 -DBUG_TAKE_BARGES # TAKE is granted although holders is {}
progress queuelock BUG_FORGET_IDS -DN=2 -DLOST=1 -DBUG_FORGET_IDS # a waiter looks only for its last attempt's id, and waits for its own orphaned entry
disowned queuelock BUG_ID_AFTER_FLOOR -DN=2 -DLOST=1 -DBUG_ID_AFTER_FLOOR # a waiter checks the floor before it looks for its ids
left queuelock BUG_NO_REMOVE -DN=2 -DLOST=1 -DGIVEUP=1 -DBUG_NO_REMOVE # CLEAN UP does not remove ids of unknown outcome. Go: ids of unknown outcome are not removed
left queuelock BUG_SDK_RETRIES -DN=3 -DDUP=1 -DGIVEUP=1 -DBUG_SDK_RETRIES # CLAIM is repeated with its id, and its refusal is believed
attempts queuelock BUG_FLOOR -DN=2 -DEVICT=1 -DBUG_FLOOR # the floor is granted alone: a waiter claims a ticket at the floor again and again
ok queuelock BUG_CLAIM_NO_SERVINGAFTER -DN=2 -DEVICT=1 -DLOST=1 -DBUG_CLAIM_NO_SERVINGAFTER # CLAIM without servingAfter < t - 1, which matters only if the floor is computed wrong
fencing queuelock BUG_FLOOR+CLAIM_NO_SERVINGAFTER -DN=2 -DEVICT=1 -DBUG_FLOOR -DBUG_CLAIM_NO_SERVINGAFTER # both
fencing queuelock BUG_CLAIM_NO_GRANTED -DN=3 -DBUG_CLAIM_NO_GRANTED # CLAIM without granted < t. Go: CLAIM/not granted
exclusion queuelock BUG_CLAIM_NO_SIZE -DN=3 -DBUG_CLAIM_NO_SIZE # CLAIM without size(holders) = 0. Go: CLAIM/room
exclusion queuelock BUG_HEARTBEAT_REVIVES -DN=2 -DEVICT=1 -DHB=1 -DBUG_HEARTBEAT_REVIVES # the heartbeat puts its entry back. Go: HEARTBEAT/holder
overtaking queuelock BUG_FAST_LAST_SEEN -DN=3 -DBUG_FAST_LAST_SEEN # the fast release without a condition on the counter. Go: RELEASE/none outstanding
overtaking queuelock BUG_RESET_UNGRANTED -DN=3 -DGIVEUP=1 -DBUG_RESET_UNGRANTED # RESET with a ticket that was not granted. Go: RESET/none outstanding
reset queuelock BUG_NO_RESET -DN=2 -DBUG_NO_RESET # no RESET. Go: no RESET is sent
judged queuelock BUG_SWEEP_UNCONDITIONAL -DN=3 -DSWEEP=1 -DWHB=1 -DBUG_SWEEP_UNCONDITIONAL # SWEEP without the beat. Go: SWEEP/beat as read
judged queuelock BUG_EVICT_UNCONDITIONAL -DN=2 -DEVICT=1 -DHB=1 -DBUG_EVICT_UNCONDITIONAL # EVICT without the beat. Go: EVICT/beat as read
rowkept queuelock BUG_NO_REENQUEUE -DN=3 -DSWEEP=1 -DBUG_NO_REENQUEUE # a swept waiter does not put its row again
exclusion modes BUG_READER_NO_MODE -DN=3 -DREADERS=1 -DBUG_READER_NO_MODE # a reader's CLAIM does not check holdMode. Go: CLAIM/holders share
exclusion modes BUG_WRITER_JOINS -DN=3 -DREADERS=1 -DBUG_WRITER_JOINS # a writer's CLAIM accepts a shared holdMode
exclusion modes BUG_ONE_TOO_MANY -DN=3 -DPERMITS=2 -DBUG_ONE_TOO_MANY # size(holders) <= permits
exclusion modes BUG_MODE_STAYS -DN=2 -DREADERS=2 -DCYCLES=2 -DBUG_MODE_STAYS # the fast release and RESET leave holdMode: a reader joins a writer. Go: RELEASE/removes holdMode
exclusion modes OLDER-version -DN=2 -DREADERS=2 -DCYCLES=2 -DOLD=1 # no mistake: a writer of a version without holdMode beside readers
exclusion modes BUG_READER_NAMES -DN=2 -DREADERS=2 -DOLD=1 -DBUG_READER_NAMES # a reader's TAKE sets the mode of a record that has none
fifo modes BUG_READER_SKIPS -DN=3 -DREADERS=6 -DBUG_READER_SKIPS # a reader claims past a writer's row
judged modes BUG_FAST_NO_SIZE -DN=3 -DREADERS=7 -DBUG_FAST_NO_SIZE # the fast release without size(holders) = 1. Go: RELEASE/alone
fencing modes BUG_CLAIM_NO_GRANTED-modes -DN=3 -DPERMITS=2 -DBUG_CLAIM_NO_GRANTED # CLAIM without granted < t. Go: CLAIM/not granted
ok modes BUG_CLAIM_NO_SERVINGAFTER-modes -DN=3 -DREADERS=5 -DBUG_CLAIM_NO_SERVINGAFTER # as above: granted is never below servingAfter when holders becomes present
ended modes BUG_NO_TICKET -DN=2 -DREADERS=3 -DDUP=2 -DBUG_NO_TICKET # conditions check the id alone, without the ticket
known modes BUG_HELD_NARROW -DN=2 -DREADERS=2 -DDOWN=1 -DHB=1 -DLOST=1 -DBUG_HELD_NARROW # heartbeats require granted <= t, also after a downgrade
fence modes BUG_FENCE_WIDE -DN=2 -DREADERS=2 -DDOWN=1 -DDUP=1 -DBUG_FENCE_WIDE # a fenced write from before the downgrade passes after it. Go: FENCE/no later ticket
exclusion modes BUG_DOWN_NO_HELD -DN=2 -DREADERS=2 -DCYCLES=2 -DDOWN=1 -DDUP=1 -DONCE -DBUG_DOWN_NO_HELD # DOWNGRADE sets the mode without checking the holder. Go: DOWNGRADE/holder
ok modes BUG_DOWN_NO_SIZE -DN=2 -DREADERS=2 -DDOWN=1 -DLOST=1 -DDUP=1 -DBUG_DOWN_NO_SIZE # DOWNGRADE without size(holders) = 1: an exclusive holder is alone anyway
alone modes BUG_DOWN_BELIEF -DN=2 -DREADERS=2 -DDOWN=1 -DLOST=1 -DBUG_DOWN_BELIEF # the holder counts as exclusive until DOWNGRADE is answered. Go: a holder relies on being alone until its downgrade is answered
progress modes BUG_CLAIM_CONFIRMED -DN=2 -DCLOSED=3 -DDUP=1 -DGIVEUP=1 -DBUG_CLAIM_CONFIRMED # a fail-closed grant without CONFIRM: a late CLAIM leaves a holder that blocks all.
ended modes BUG_CONFIRM_NO_TICKET -DN=2 -DCLOSED=1 -DDUP=2 -DBUG_CONFIRM_NO_TICKET # CONFIRM without the ticket
ok modes BUG_CONFIRM_NO_BEAT -DN=2 -DCLOSED=3 -DDUP=1 -DEVICT=1 -DBUG_CONFIRM_NO_BEAT # CONFIRM without beat = 0: an entry that was evicted is gone, whatever its beat
confirm modes BUG_EVICT_UNCONDITIONAL-closed -DN=2 -DCLOSED=1 -DEVICT=1 -DBUG_EVICT_UNCONDITIONAL # EVICT without the beat. Go: EVICT/beat as read
confirm modes BUG_EVICT_CONFIRMED -DN=2 -DCLOSED=1 -DEVICT=1 -DBUG_EVICT_CONFIRMED # a confirmed holder is judged by a lease
left modes BUG_FORGET_BEFORE_CONFIRM -DN=2 -DCLOSED=3 -DDUP=1 -DEVICT=1 -DGIVEUP=1 -DONCE -DBUG_FORGET_BEFORE_CONFIRM # ids of unknown outcome are forgotten when one of them is granted, before it is confirmed
progress modes CUT-closed -DN=2 -DCLOSED=1 -DLOST=1 -DGIVEUP=1 -DCUT=1 # no mistake: CLEAN UP does not reach the table while a CONFIRM has no answer
ended modes BUG_RESUME_NO_HELD -DN=2 -DRESUMERS=1 -DBUG_RESUME_NO_HELD # RESUME without the holder. Go: RESUME/holder
ended modes BUG_RESUME_NO_TICKET -DN=2 -DRESUMERS=1 -DDUP=1 -DBUG_RESUME_NO_TICKET # RESUME without the ticket
exclusion modes BUG_RESUME_NO_REMOVE -DN=2 -DRESUMERS=1 -DBUG_RESUME_NO_REMOVE # RESUME leaves the old id
exclusion modes BUG_RESUME_HANDLE_MODE -DN=2 -DREADERS=2 -DDOWN=1 -DRESUMERS=1 -DBUG_RESUME_HANDLE_MODE # a handle from before a downgrade is resumed as exclusive. Go: RESUME/not downgraded
confirm modes BUG_RESUME_PROVISIONAL -DN=2 -DCLOSED=1 -DRESUMERS=1 -DEVICT=1 -DBUG_RESUME_PROVISIONAL # a resumed fail-closed lock must be confirmed again
resume modes BUG_PLACE_NO_ID -DN=2 -DRESUMERS=2 -DPLACE -DBUG_PLACE_NO_ID # a place is resumed whichever process has it. Go: RESUME of a row/no row of another
written modes BUG_UPD_NO_TICKET -DN=2 -DUPD=1 -DDUP=2 -DBUG_UPD_NO_TICKET # UpdateAndRelease requires its id, but not its ticket. Go: RELEASE/its ticket
written modes BUG_UPD_NO_HELD -DN=2 -DUPD=1 -DDUP=2 -DONCE -DBUG_UPD_NO_HELD # it requires neither. Go: RELEASE/holder
overtaking modes BUG_UPD_FAST_NO_IDLE -DN=2 -DUPD=1 -DBUG_UPD_FAST_NO_IDLE # the fast form requires only the ticket. Go: RELEASE/none outstanding
reported modes BUG_NO_CALL-modes -DN=2 -DUPD=1 -DLOST=2 -DBUG_NO_CALL # the mark of a release without the number of the call. Go: all calls that release a lock have one number
reported modes BUG_FAST_NO_MARK-modes -DN=2 -DUPD=1 -DLOST=1 -DBUG_FAST_NO_MARK # the fast release without its mark. Go: RELEASE/sets released
reported modes BUG_EVICT_NO_MARK-modes -DN=2 -DUPD=1 -DLOST=1 -DEVICT=1 -DBUG_EVICT_NO_MARK # EVICT without its mark. Go: EVICT/sets evicted
ok modes BUG_CLAIM_NO_COUNTER -DN=2 -DUPD=3 -DDROP=1 -DLOST=1 -DBUG_CLAIM_NO_COUNTER # CLAIM without ticketNumber >= t: the waiter checks it before it claims
reported outcomes BUG_FAST_NO_MARK -DLOST=1 -DBUG_FAST_NO_MARK # the fast release without its mark. Go: RELEASE/sets released
reported outcomes BUG_EVICT_NO_MARK -DLOST=1 -DBUG_EVICT_NO_MARK # EVICT without its mark. Go: EVICT/sets evicted
reported outcomes BUG_RESUME_NO_MARK -DLOST=1 -DRESUME=1 -DBUG_RESUME_NO_MARK # RESUME without its mark. Go: RESUME/sets evicted
rare outcomes BUG_SEED_NO_MARK -DLOST=1 -DBUG_SEED_NO_MARK # a new record without a mark: unknown too often, but never wrong
rare outcomes BUG_TAKE_NO_MARK -DLOST=1 -DBUG_TAKE_NO_MARK # the same of TAKE. Go: TAKE/sets, if absent, evicted
reported outcomes BUG_NO_CALL -DLOST=1 -DCALLS=2 -DBUG_NO_CALL # the mark of a release without the number of the call: an earlier call's success counts as this one's. Go: all calls that release a lock have one number
reported outcomes BUG_WHICH -DDUP=1 -DCALLS=2 -DCOND=2 -DBUG_WHICH # after another call that was answered, a release is ascribed to the last call: a late copy of the earlier one made it
reported outcomes BUG_ORDER -DHAND=1 -DIDS=1 -DBUG_ORDER # "no eviction since" is checked before "no release since", and an operator removed the entry by hand
reported outcomes BUG_ABSENT -DLOST=1 -DDROP=1 -DBUG_ABSENT # with no release mark, any eviction of the new record counts as this holder's
reported outcomes BUG_SEEN_LATE -DLOST=1 -DCALLS=2 -DBUG_SEEN_LATE # the marks of a record without the holder count as seen
reported outcomes BUG_ID_ALONE -DLOST=1 -DORPHAN=1 -DBUG_ID_ALONE # marks and entries are compared by id, without the ticket
reported outcomes BUG_RELEASE_NO_TICKET -DLOST=1 -DORPHAN=1 -DNO_RARE -DBUG_RELEASE_NO_TICKET # RELEASE requires the id alone: applied to an orphaned entry, it writes an old mark again. Go: RELEASE/its ticket
reported outcomes BUG_EVICT_NO_TICKET -DLOST=1 -DORPHAN=1 -DNO_RARE -DBUG_EVICT_NO_TICKET # the same of EVICT. Go: EVICT/ticket as read
reported outcomes BUG_REMOVE -DLOST=1 -DCALLS=2 -DBUG_REMOVE # the holder removes its entry without a mark, and later reads the outcome
reported outcomes BUG_COUNT -DAGAIN=1 -DBUG_COUNT # unknown counts as lost if every attempt was answered, but the SDK's client repeats requests
reported outcomes BY-HAND-and-others -DHAND=1 -DIDS=1 # no mistake: an operator removes the entry without a mark, and another turn is released since
reported outcomes OLDER-version-marks -DLOST=1 -DOLD=1 # no mistake: a client of a version without marks beside this one
written outcomes BUG_TOKEN_ALONE -DLOST=1 -DTRANS=2 -DTOKENS -DFORGET=1 -DBUG_TOKEN_ALONE # the transaction has a token and no number. Go: FENCE/transaction not made
reported outcomes BUG_EVICT_NO_MADE -DLOST=1 -DTRANS=1 -DBUG_EVICT_NO_MADE # the mark has a number that was read earlier, and EVICT does not check it. Go: EVICT/transactions as read
reported outcomes BUG_RESUME_NO_MADE -DLOST=1 -DTRANS=1 -DRESUME=1 -DBUG_RESUME_NO_MADE # the same of RESUME. Go: RESUME/transactions as read
reported outcomes BUG_SETTLE_SAME -DLOST=1 -DTRANS=1 -DDUP=1 -DBUG_SETTLE_SAME # SETTLE writes the number of the transaction itself. Go: SETTLE writes the number of the transaction itself
reported outcomes NO-TOKEN-again -DTRANS=1 -DAGAIN=1 # no token, and the SDK's client repeats requests. Go: a transaction has a number, and no token
fencing scopes BUG_ENTER_NO_LESS -DN=2 -DQ=1 -DBUG_ENTER_NO_LESS # ENTER without ticketNumber < t. Go: ENTER/first with its ticket
fifo scopes BUG_ENQUEUE_FIRST -DN=2 -DQ=1 -DBUG_ENQUEUE_FIRST # ENQUEUE before ENTER
tickets scopes ORDERS-differ -DN=2 -DORDERS=1 # two processes take two locks in different orders, and overtake each other without end
progress scopes BUG_KEEP_HELD -DN=2 -DBUG_KEEP_HELD # a process that was overtaken keeps what it holds: deadlock
attempts scopes BUG_FLOOR-scopes -DN=3 -DQ=1 -DBUG_FLOOR # the floor is granted alone
ok scopes BUG_CLAIM_NO_SERVINGAFTER-scopes -DN=3 -DQ=1 -DBUG_CLAIM_NO_SERVINGAFTER # CLAIM without servingAfter < t - 1, as above
fencing scopes BUG_FLOOR+CLAIM_NO_SERVINGAFTER-s -DN=3 -DQ=1 -DBUG_FLOOR -DBUG_CLAIM_NO_SERVINGAFTER # both
belief queuelock BUG_NAME_AGAIN -DN=2 -DCYCLES=2 -DDIRECT=3 -DEVICT=1 -DBUG_NAME_AGAIN # a process that was named holds although the lease of its row was over. Go: a grant by name is used after the lease of the row
belief queuelock BUG_NAME_NO_ROW -DN=2 -DCYCLES=2 -DDIRECT=3 -DBUG_NAME_NO_ROW # the grantee deletes its row before ACCEPT. Go: a grant by name is accepted after its row was deleted
belief queuelock BUG_NAME_ROW_EARLY -DN=2 -DCYCLES=2 -DDIRECT=3 -DLOST=1 -DBUG_NAME_ROW_EARLY # it does so after an ACCEPT that had no answer. Go: the row is deleted after an acceptance without an answer
fifo queuelock BUG_NAME_NOT_NEXT -DN=3 -DDIRECT=7 -DBUG_NAME_NOT_NEXT # PASS by name to a later ticket than the next. Go: a holder reads a row that is not the next
judged queuelock BUG_EVICT_UNCONDITIONAL-direct -DN=2 -DCYCLES=2 -DDIRECT=3 -DSWEEP=1 -DBUG_EVICT_UNCONDITIONAL # the entry is evicted although it was accepted meanwhile. Go: EVICT/beat as read
orphan queuelock BUG_DIRECT_NO_FALLBACK -DN=2 -DDIRECT=3 -DLOST=1 -DBUG_DIRECT_NO_FALLBACK # no hand-off after a refusal
ok queuelock BUG_DIRECT_NO_HELD -DN=3 -DDIRECT=1 -DDUP=1 -DLATEONLY=oDIRECT -DBUG_DIRECT_NO_HELD # DIRECT without the releaser's entry: granted < w suffices, as w is the next ticket
fencing queuelock BUG_DIRECT_NO_HELD+NO_GRANTED -DN=2 -DCYCLES=2 -DDIRECT=3 -DDUP=1 -DLATEONLY=oDIRECT -DBUG_DIRECT_NO_HELD -DBUG_DIRECT_NO_GRANTED # without both a late copy grants a turn that has ended
ok queuelock BUG_DIRECT_NO_GRANTED -DN=2 -DDIRECT=3 -DDUP=1 -DBUG_DIRECT_NO_GRANTED # DIRECT without granted < w: no other process is granted while the releaser's entry is there
fifo queuelock BUG_PASS_NOT_NEXT -DN=3 -DPASS=1 -DBUG_PASS_NOT_NEXT # PASS to a later ticket than the next. Go: a release passes the lock to a waiter that is not the next
ok queuelock BUG_PASS_NO_HELD -DN=2 -DPASS=1 -DDUP=1 -DBUG_PASS_NO_HELD # PASS without the releaser's entry, as of DIRECT
fencing queuelock BUG_PASS_NO_HELD+NO_GRANTED -DN=2 -DCYCLES=2 -DPASS=1 -DDUP=1 -DLATEONLY=oPASS -DBUG_PASS_NO_HELD -DBUG_PASS_NO_GRANTED # without both a late copy grants a turn that has ended
ok queuelock BUG_PASS_NO_GRANTED -DN=2 -DPASS=1 -DDUP=1 -DBUG_PASS_NO_GRANTED # PASS without granted < t, as of DIRECT
left queuelock BUG_PASS_FORGETS -DN=2 -DPASS=1 -DLOST=1 -DGIVEUP=1 -DBUG_PASS_FORGETS # a waiter that leaves does not remove the id of a PASS without an answer
orphan queuelock BUG_PASS_NO_FALLBACK -DN=2 -DPASS=1 -DLOST=1 -DBUG_PASS_NO_FALLBACK # no hand-off after a refusal
disowned queuelock BUG_ID_AFTER_FLOOR-direct -DN=2 -DDIRECT=3 -DBUG_ID_AFTER_FLOOR # a waiter that was named checks the floor before it looks for its ids
forgotten forget BUG_TTL_STAYS -DBUG_TTL_STAYS # TAKE leaves the TTL attribute in place
forgotten forget BUG_TTL_HANDOFF -DBUG_TTL_HANDOFF # the hand-off sets it, while a ticket is outstanding
fencing forget BUG_TTL_SHORT -DBUG_TTL_SHORT # the record is forgotten before the clock's errors and late requests are over
fencing forget BUG_SEED_ONE -DBUG_SEED_ONE # a new record begins at 1
wedged forget BUG_GRANTED_BASE -DEXISTS=4 -DBUG_GRANTED_BASE # granted of a record that has only a counter becomes the base
wedged forget BUG_CLAIM_NO_COUNTER-forget -DDROP=1 -DOLD=1 -DFORGET=0 -DFALLING -DCYCLES=2 -DEND=8 -DBUG_CLAIM_NO_COUNTER # CLAIM without ticketNumber >= t, beside a version that seeds at 1
wedged forget BUG_DIRECT_NO_COUNTER -DDROP=1 -DOLD=1 -DFORGET=0 -DFALLING -DDIRECT -DBUG_DIRECT_NO_COUNTER # the same of DIRECT
fencing forget GAP-3 -DDROP=1 -DGAP=3 # no mistake: another program deletes the record one unit too early
fencing forget LATE-2 -DDROP=1 -DLATE=2 # no mistake: a request is one unit later
forgotten forget OLDER-version-forget -DOLD=1 -DCYCLES=2 # no mistake: a client of a version that leaves the TTL attribute
fencing forget OLDER-version-deleted -DDROP=1 -DOLD=1 -DFORGET=0 # no mistake: the same seeds at 1 after a deletion
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
