/* Shared locks and semaphores, fail-closed locks, downgrade and resume, with a
 * ticket counter for each queue. It has less detail than queuelock.pml: a row is
 * put before the first look, rows have no heartbeats, and the record is present
 * from the start.
 *
 * One request is one atomic step. The table judges it when it is applied. The
 * reaction to its answer is decided in the same step, and the next request is a
 * step of its own. A process can therefore pause between any two requests.
 *
 * -D options: N processes, CYCLES turns each. Masks of processes: READERS take the
 * lock shared, CLOSED fail closed, DOWN downgrade it while they hold it, OLD run a
 * version without modes. PERMITS (0: a lock). RESUMERS: processes that resume the
 * lock of process 0 by its handle or, with PLACE, its place in the queue. EXISTS
 * (1: the record is idle, 2: holders is {} after an exclusive turn with ticket 1,
 * 3: the same, without holdMode). The faults, and how often each may happen: LOST,
 * DUP, CRASH, EVICT, SWEEP, GIVEUP, OPER (an operator removes a live fail-closed
 * holder), CUT (the REMOVE of CLEAN UP never reaches the table). HB: heartbeats of
 * holders. With ONCE, a request that was answered is not applied again. BUG_...
 * plants a mistake.
 *
 * UPD: a mask of processes that release the lock together with an update of the
 * item that carries the record, in one conditional request (UpdateAndRelease), and
 * up to twice if the first call ends without an answer. They have one turn, and
 * read its outcome from the marks on the record (outcomes.pml). DROP: how often the
 * item is deleted and created again.
 *
 * Step, and the code that it plays:
 *
 *   take, oTAKE, claim, oCLAIM  serving.Take, queue.Claim, Record.Room
 *   oHB, oFENCE                 Renewal.Heartbeat, queue.Fence, alone, holds, latest
 *   down, oDOWN                 Lock.Downgrade, queue.Downgrade
 *   confirm, oCONF              Wait.grant, Wait.confirmed, queue.Confirm
 *   CUT                         waiting.left, Orphan
 *   upd, made, oUPD             Lock.UpdateAndRelease, releaseStep.judge, releaseStep.judged, serving.SendWith
 *   decide                      Record.Outcome, Hold.confirms
 *   released, lost, orphan      releaseStep.judge, releaseStep.judged
 *   FOREIGN, cCOUNTER           Snapshot.Decide, queue.Claim
 *   Operator                    Operator.Evict
 *   resume, oRESUME             Client.Resume, Wait.resume, Wait.takeOver, queue.Resume
 *   oPLACE                      Wait.resume, queue.Enqueue
 */
#ifndef N
#define N 2
#endif
#ifndef CYCLES
#define CYCLES 1
#endif
#ifndef READERS
#define READERS 0
#endif
#ifndef CLOSED
#define CLOSED 0
#endif
#ifndef DOWN
#define DOWN 0
#endif
#ifndef OLD
#define OLD 0
#endif
#ifndef PERMITS
#define PERMITS 0
#endif
#ifndef RESUMERS
#define RESUMERS 0
#endif
#ifndef EXISTS
#define EXISTS 1
#endif
#ifndef LOST
#define LOST 0
#endif
#ifndef DUP
#define DUP 0
#endif
#ifndef CRASH
#define CRASH 0
#endif
#ifndef EVICT
#define EVICT 0
#endif
#ifndef SWEEP
#define SWEEP 0
#endif
#ifndef GIVEUP
#define GIVEUP 0
#endif
#ifndef OPER
#define OPER 0
#endif
#ifndef CUT
#define CUT 0
#endif
#ifndef HB
#define HB 0
#endif
#ifndef UPD
#define UPD 0
#endif
#ifndef DROP
#define DROP 0
#endif
#define NP (N + RESUMERS)
#define T 9               /* tickets are below this */
#define K 16              /* attempts of one process are below this */
#define S 4               /* entries of holders */
#if DUP > 1
#define SLOTS DUP         /* requests that are applied later */
#else
#define SLOTS 1
#endif

/* The names of the checks. pan prints a name with the assertion that fails. The
 * variables are never set. */
hidden byte broken_exclusion, broken_alone, broken_fencing, broken_fence, broken_fifo, broken_overtaking, broken_judged, broken_known,
	broken_confirm, broken_resume, broken_ended, broken_left, broken_clean, broken_reset, broken_attempts, broken_tickets, broken_model,
	broken_written, broken_reported, broken_settled;

/* Requests. */
#define oTAKE 1
#define oENQ 3
#define oCLAIM 4
#define oHB 5
#define oDOWN 6
#define oFAST 7
#define oHAND 8
#define oRESET 9
#define oEVICT 10
#define oSWEEP 11
#define oDEL 12
#define oREM 13
#define oFENCE 14
#define oCONF 15
#define oRESUME 16
#define oPLACE 17
#define oUPD 18           /* RELEASE with an update by the caller */

/* Modes of the record, of an entry, and of the belief of a process. */
#define EXCL 1
#define SHRD 2

/* The serving record. */
byte tn = (EXISTS > 1), sa = 0, gr = 0;
bool pres = (EXISTS > 1); /* holders and servingAfter are present */
byte mode = (EXISTS == 2 && PERMITS == 0); /* holdMode; 0: absent */
byte n = 0;               /* entries of holders */
byte hid[S];              /* id */
byte htk[S];              /* ticket, if it came by CLAIM or RESUME */
byte hbt[S];              /* beat */
byte hmd[S];              /* only for the checks: its mode */
/* The rows: 0, or owner and number of the row's id. */
byte row[T];

/* Only for the checks: the last ticket granted to each process, its last exclusive
 * ticket, the first ticket issued while its row was in the table, above the floor,
 * the tickets that were confirmed, and the tickets of turns that have ended. */
byte g[NP], gx[NP], owed[NP];
short conf = 0, ended = 0;

/* What each process knows. */
short lv[NP];             /* its ids that it holds, or would adopt */
short unk[NP];            /* its ids whose requests were not answered */
byte wtk[NP];             /* the ticket it waits with; 0: it does not wait */
byte bel[NP];             /* it believes that it holds, in this mode */
bool out[NP];             /* its belief was ended by an operator, or by RESUME */
bool dead[NP];
byte fin = 0;             /* processes that have ended */
byte sid = 0, stk = 0;    /* the handle of a lock that was saved */
byte won = 0;             /* RESUMEs that were applied */
byte srow = 0;            /* with PLACE, the handle is a row: owner and id, and its ticket in stk */

#if UPD > 0
/* The marks: the last release and its call, and the last eviction; 0: none. */
byte mr = 0, mrt = 0, mrc = 0, me = 0, met = 0;
/* What each process knows: its grant, and the marks of the last record that had its entry. */
byte gid[NP], gtk[NP], srid[NP], srtk[NP], srcall[NP], seid[NP], setk[NP];
/* Only for the checks: how its turn ended (1 + the call that released it), and its update. */
byte by[NP];
#define TAKEN 10
byte wr[NP];              /* the update was made: 1 + the call that made it */
byte denied[NP];          /* calls that reported that nothing was written */
bool settled[NP];         /* a Release has returned since */
byte bDrop = DROP;
#endif

/* Requests that are sent, and will be applied later. */
byte dop[SLOTS], dp[SLOTS], did[SLOTS], dt[SLOTS];
short db[SLOTS];

byte bLost = LOST, bDup = DUP, bCrash = CRASH, bEvict = EVICT, bSweep = SWEEP,
     bGiveup = GIVEUP, bOper = OPER, bCut = CUT, bHB = HB;
bool twice = 0;           /* a request that was answered was applied again */
bool leased = 0;          /* something is left that only the end of its lease removes */

bool res = 0, unkn = 0;   /* the last answer: applied or refused, or none */

#define ID(p,i)   (((p)+1)*K + (i))
#define OWNER(i)  ((i)/K - 1)
#define BIT(i)    (1 << ((i)%K))
#define HAS(m,p)  (((m) >> (p)) & 1)
/* A process that resumes asks for the mode of process 0. */
#define WHO(p)    ((p) < N -> (p) : 0)
#define MODE(p)   (PERMITS > 0 -> 0 : (HAS(READERS,WHO(p)) -> SHRD : EXCL))
#define CLOSEDID(i) HAS(CLOSED,WHO(OWNER(i)))
#define MINE1(p,s) (n > s && OWNER(hid[s]) == (p) && (lv[p] & BIT(hid[s])))
#define MINE(p)   (MINE1(p,0) || MINE1(p,1) || MINE1(p,2) || MINE1(p,3))
#define IN(i)     ((n > 0 && hid[0] == (i)) || (n > 1 && hid[1] == (i)) || (n > 2 && hid[2] == (i)) || (n > 3 && hid[3] == (i)))
/* The entry has an owner, which renews it or is about to remove it. */
#define LIVE(i)   ((lv[OWNER(i)] | unk[OWNER(i)]) & BIT(i))
/* Processes may judge the entry by its lease; a confirmed entry has none. */
#ifdef BUG_EVICT_CONFIRMED
#define LEASED(s) 1
#else
#define LEASED(s) (!CLOSEDID(hid[s]) || hbt[s] == 0)
#endif
#define DEAD1(s)  (n > s && !LIVE(hid[s]) && LEASED(s))
#define DEADIN    (DEAD1(0) || DEAD1(1) || DEAD1(2) || DEAD1(3))
#define ALIVE1(s) (n > s && LIVE(hid[s]) && LEASED(s))
#define ALIVEIN   (ALIVE1(0) || ALIVE1(1) || ALIVE1(2) || ALIVE1(3))
#define ROW(p,r)  (((p)+1)*4 + (r))
#define ROWNER(v) ((v)/4 - 1)
#define FLOOR     ((pres && sa+1 > gr) -> sa+1 : gr)
#define IDLEFOR(t) (tn == gr || tn == (t))
#define LIVEROW(u) (!dead[ROWNER(row[u])] && wtk[ROWNER(row[u])] == (u))
#define GONE1(u,t)  (u < t && row[u] != 0 && !LIVEROW(u))
#define AHEAD1(u,t) (u < t && u > FLOOR && row[u] != 0 && LIVEROW(u))
#define GONE(t)  (GONE1(1,t) || GONE1(2,t) || GONE1(3,t) || GONE1(4,t) || GONE1(5,t) || GONE1(6,t) || GONE1(7,t))
#ifdef BUG_READER_SKIPS
#define AHEAD(p,t) (!HAS(READERS,p) && AHEAD_(t))
#else
#define AHEAD(p,t) AHEAD_(t)
#endif
#define AHEAD_(t) (AHEAD1(1,t) || AHEAD1(2,t) || AHEAD1(3,t) || AHEAD1(4,t) || AHEAD1(5,t) || AHEAD1(6,t) || AHEAD1(7,t))
#define OPEN(p)  (n == 0 || (PERMITS > 0 && n < PERMITS) || (MODE(p) == SHRD && mode == SHRD))
#define NOROW(p,t) (t > FLOOR && (row[t] == 0 || ROWNER(row[t]) != p))
/* A look would lead to an action, with or without a fault. */
#define TURN(p,t) (MINE(p) || t <= FLOOR || !pres || FOREIGN(t) || GONE(t) || DEADIN || (bEvict > 0 && ALIVEIN) || \
	(OPEN(p) && !AHEAD(p,t)) || NOROW(p,t) || (bSweep > 0 && AHEAD_(t)) || bGiveup > 0)

/* The item was deleted and created again: order is not kept across that. */
#if DROP > 0
#define MADEANEW (bDrop < DROP)
#define FOREIGN(t) ((t) > tn) /* issued by the deleted item's counter */
/* A TAKE that is repeated after that puts an id back with its old ticket. */
#define ANEW (MADEANEW && DUP > 0)
#else
#define MADEANEW 0
#define ANEW 0
#define FOREIGN(t) 0
#endif

hidden byte x, y, z, mo, fb, verdict;

/* The floor is about to rise to v without a grant. It must not pass the ticket of
 * a waiter. */
inline raise(v) {
	y = 0;
	do
	:: y < NP -> assert(wtk[y] == 0 || wtk[y] <= FLOOR || wtk[y] > v || MADEANEW || broken_overtaking); y++
	:: else -> break
	od
}

/* Ticket v is about to be granted to process q. */
inline grant(v, q) {
	y = 0;
	do
	:: y < NP ->
		assert(v > g[y] || broken_fencing);
		assert(y == q || owed[y] == 0 || owed[y] > v || wtk[y] <= FLOOR || MADEANEW || broken_fifo);
		y++
	:: else -> break
	od;
	g[q] = v;
	if :: mo == EXCL -> gx[q] = v :: else fi
}

/* Ticket v is about to be issued. Its owner is a newcomer to all waiters whose rows
 * are in the table, above the floor. */
inline issued(v) {
	assert(v < T-1 || broken_tickets);
	y = 0;
	do
	:: y < NP ->
		if
		:: owed[y] == 0 && wtk[y] > FLOOR && row[wtk[y]] != 0 && ROWNER(row[wtk[y]]) == y -> owed[y] = v
		:: else
		fi;
		y++
	:: else -> break
	od
}

/* z becomes the index of id i, or n if it is absent. */
inline find(i) {
	z = 0;
	do :: z < n && hid[z] != (i) -> z++ :: else -> break od
}

/* Checks the entries of holders, and the beliefs of processes. */
inline together() {
	assert(PERMITS == 0 || n <= PERMITS || broken_exclusion);
	y = 0;
	do
	:: y < n ->
		assert(PERMITS > 0 || n == 1 || hmd[y] == SHRD || broken_exclusion);
		/* a holder that is in the record, and believes that it is alone, is alone */
		assert(PERMITS > 0 || n == 1 || bel[OWNER(hid[y])] != EXCL || !(lv[OWNER(hid[y])] & BIT(hid[y])) || broken_alone);
		y++
	:: else -> break
	od;
	y = 0;
	do
	:: y < NP ->
		/* a fail-closed holder is in the record until an operator or RESUME ends its turn */
		assert(!bel[y] || !HAS(CLOSED,y) || out[y] || (n > 0 && (MINE(y) || IN(sid))) || broken_confirm);
		y++
	:: else -> break
	od
}

inline put(i, t, m, b) {
	assert(n < S || broken_model);
	hid[n] = i; htk[n] = t; hmd[n] = m; hbt[n] = b; n++;
	together()
}

#define TICKETAT(s) (htk[s] -> htk[s] : sa+1)
/* EVICT requires the ticket so that its mark is right. */
#if UPD > 0
#define TICKETOF(s) TICKETAT(s)
#else
#define TICKETOF(s) 0
#endif
/* Removes the entry at z. */
inline cut() {
	n--;
	do
	:: z < n -> hid[z] = hid[z+1]; htk[z] = htk[z+1]; hmd[z] = hmd[z+1]; hbt[z] = hbt[z+1]; z++
	:: else -> break
	od;
	hid[n] = 0; htk[n] = 0; hmd[n] = 0; hbt[n] = 0
}

/* Removes the entry at z and ends its turn. */
inline end_turn() {
	ended = ended | (1 << TICKETAT(z));
	cut()
}

inline idle(q) {
	raise(tn); gr = tn; pres = 0; sa = 0;
#ifndef BUG_MODE_STAYS
	if :: !HAS(OLD,q) -> mode = 0 :: else fi;
#endif
}

inline droprow(u) {
	y = ROWNER(row[u]);
	if :: wtk[y] == u -> owed[y] = 0 :: else fi;
	row[u] = 0
}

/* The conditions that a planted mistake leaves out. */
#ifdef BUG_READER_NAMES
#define cNAMED 1
#else
#define cNAMED !(mo == SHRD && pres && mode == 0)
#endif
#ifdef BUG_READER_NO_MODE
#define cREADER(p) HAS(READERS,p)
#else
#define cREADER(p) (HAS(READERS,p) && mode == SHRD)
#endif
#ifdef BUG_WRITER_JOINS
#define cWRITER (mode == SHRD)
#else
#define cWRITER 0
#endif
#ifdef BUG_ONE_TOO_MANY
#define cPERMITS (n <= PERMITS)
#else
#define cPERMITS (n < PERMITS)
#endif
#ifdef BUG_CLAIM_NO_GRANTED
#define cGRANTED 1
#else
#define cGRANTED (gr < t)
#endif
#ifdef BUG_CLAIM_NO_SERVINGAFTER
#define cSERVINGAFTER 1
#else
#define cSERVINGAFTER (sa + 1 < t)
#endif
#ifdef BUG_NO_TICKET
#define cTICKET 1
#else
#define cTICKET (htk[z] == t || (htk[z] == 0 && sa + 1 == t))
#endif
#if UPD > 0
#define cEVICT cTICKET
#else
#define cEVICT 1
#endif
#ifdef BUG_CONFIRM_NO_TICKET
#define cCONFIRM 1
#else
#define cCONFIRM cTICKET
#endif
#ifdef BUG_RESUME_NO_TICKET
#define cRESUME 1
#else
#define cRESUME cTICKET
#endif
#define NARROW (gr <= t)
#ifdef BUG_HELD_NARROW
#define WIDE (gr <= t)
#else
#define WIDE (PERMITS > 0 || mode == SHRD || gr <= t)
#endif
#ifdef BUG_FENCE_WIDE
#define cFENCE WIDE
#else
#define cFENCE (b != EXCL || NARROW)
#endif
#ifdef BUG_DOWN_NO_SIZE
#define cALONE 1
#else
#define cALONE (n == 1)
#endif
#ifdef BUG_CONFIRM_NO_BEAT
#define cZERO 1
#else
#define cZERO (hbt[z] == 0)
#endif
#ifdef BUG_FAST_NO_SIZE
#define cLAST 1
#else
#define cLAST (n == 1)
#endif
#ifdef BUG_CLAIM_CONFIRMED
#define FIRSTBEAT(i) CLOSEDID(i)
#else
#define FIRSTBEAT(i) 0
#endif
#ifdef BUG_RESUME_PROVISIONAL
#define RESUMEBEAT 0
#else
#define RESUMEBEAT (HAS(CLOSED,0))
#endif

#if UPD > 0
/* A release with an update: the number of the sender's call, and the form: 1 fast,
 * 0 hand-off. */
#define ASKS(call,form) ((call) + 4*(form))
#define ASKSCALL(b) ((b)%4)
#define ASKSFAST(b) ((b)/4)
#if defined(BUG_UPD_NO_HELD)
#define cUPD 1
#elif defined(BUG_UPD_NO_TICKET)
#define cUPD (z < n)
#else
#define cUPD (z < n && cTICKET)
#endif
#ifdef BUG_UPD_FAST_NO_IDLE
#define cIDLEUPD 1
#else
#define cIDLEUPD (cLAST && IDLEFOR(t))
#endif
#ifdef BUG_CLAIM_NO_COUNTER
#define cCOUNTER 1
#else
#define cCOUNTER (tn >= t)
#endif
/* The id is in the record with its ticket. */
#define HELD1(s,i,t) (n > s && hid[s] == (i) && TICKETAT(s) == (t))
#define HELD(i,t) (HELD1(0,i,t) || HELD1(1,i,t) || HELD1(2,i,t) || HELD1(3,i,t))

/* The turn of process q has ended, if the entry is its own. */
inline turnover(q, h, v, how) {
	if
	:: gid[q] == (h) && gtk[q] == (v) -> assert(by[q] == 0 || ANEW || broken_settled); by[q] = how
	:: else
	fi
}
inline releaseMark(q, h, v, c, quick) {
	turnover(q, h, v, 1 + (c));
#ifdef BUG_FAST_NO_MARK
	if :: quick :: else -> mr = h; mrt = v; mrc = c fi
#else
	mr = h; mrt = v; mrc = c
#endif
}
inline newMark(h) { if :: me == 0 -> me = h; met = 0 :: else fi }
inline see(q) { srid[q] = mr; srtk[q] = mrt; srcall[q] = mrc; seid[q] = me; setk[q] = met }

/* Record.Outcome of package queue. */
#define uHELD 1
#define uTHIS 2
#define uEARLIER 3
#define uEVICTED 4
#define uSOME 5
#define uUNKNOWN 6
#ifdef BUG_NO_CALL
#define SAMECALL(c) 1
#else
#define SAMECALL(c) (mrc == (c))
#endif
#define SAMERELEASED(q) (mr == srid[q] && mrt == srtk[q] && mrc == srcall[q])
#define SAMEEVICTED(q) (me != 0 && me == seid[q] && met == setk[q])
#define OURS(q) (by[q] > 0 && by[q] < TAKEN)
inline decide(q, i, t, c) {
	d_step {
	if
	:: HELD(i,t) -> verdict = uHELD
	:: else -> if
	:: mr == i && mrt == t && SAMECALL(c) -> verdict = uTHIS
	:: mr == i && mrt == t && !SAMECALL(c) -> verdict = uEARLIER
	:: else -> if
	:: (me == i && met == t) || (SAMERELEASED(q) && (mr != 0 || SAMEEVICTED(q))) -> verdict = uEVICTED
	:: else -> if
	:: SAMEEVICTED(q) -> verdict = uSOME
	:: else -> verdict = uUNKNOWN
	fi fi fi fi;
	assert(verdict != uTHIS || by[q] == 1 + (c) || ANEW || broken_reported);
	assert((verdict != uEARLIER && verdict != uSOME) || OURS(q) || ANEW || broken_reported);
	assert(verdict != uEVICTED || by[q] == TAKEN || ANEW || broken_reported)
	}
}
#else
#define cCOUNTER 1
#endif

/* The turn of ticket t has not ended. */
#define NOTENDED(t) assert(!(ended & (1 << (t))) || broken_ended)

/* The table applies a request of process p, with id, ticket and a further number. */
inline apply(o, p, i, t, b) {
	d_step {
	res = 0; mo = MODE(p); fb = FIRSTBEAT(i);
	if
	:: o == oTAKE ->
		if
		:: cNAMED ->
			issued(tn+1);
			if
			:: !pres ->
				grant(tn+1, p); sa = tn; pres = 1;
				if :: mode == 0 && !HAS(OLD,p) -> mode = mo :: else fi;
				put(i, 0, mo, fb)
			:: else -> if :: mode == 0 && !HAS(OLD,p) -> mode = mo :: else fi
			fi;
#if UPD > 0
			newMark(i);
#endif
			tn++; res = 1
		:: else
		fi
	:: o == oENQ ->
		if
		:: row[t] == 0 -> row[t] = ROW(p, b); res = 1
		:: else -> res = (ROWNER(row[t]) == p)
		fi
	:: o == oCLAIM ->
		if
		:: pres && (n == 0 || (PERMITS > 0 && cPERMITS) || (PERMITS == 0 && (cREADER(p) || cWRITER))) && cGRANTED && cSERVINGAFTER && cCOUNTER ->
			grant(t, p); gr = t;
			if :: !HAS(OLD,p) -> mode = mo :: else fi;
			put(i, t, mo, fb); res = 1
		:: else
		fi
	:: o == oHB ->
		find(i);
		if
		:: z < n && cTICKET && (b != EXCL || WIDE) ->
			NOTENDED(t);
			/* the handle's lock was resumed: its old id is never renewed */
			assert(won == 0 || i != sid || broken_resume);
			if :: hbt[z] < 2 -> hbt[z]++ :: else fi; res = 1
		:: else
		fi
	:: o == oDOWN ->
		find(i);
		if
		:: z < n && cTICKET && WIDE && cALONE -> mode = SHRD; hmd[z] = SHRD; res = 1
#ifdef BUG_DOWN_NO_HELD
		:: !(z < n && cTICKET && WIDE && cALONE) && pres -> mode = SHRD
#endif
		:: else
		fi
	:: o == oCONF ->
		find(i);
		if
		:: z < n && cCONFIRM && (b != EXCL || WIDE) && cZERO ->
			NOTENDED(t); hbt[z] = 1; conf = conf | (1 << t); res = 1
		:: else
		fi
	:: o == oFAST ->
		find(i);
		if
		:: z < n && cTICKET && cLAST && IDLEFOR(t) ->
			assert(n == 1 || broken_judged);
#if UPD > 0
			releaseMark(p, i, t, b, 1);
#endif
			do :: n > 0 -> z = n-1; end_turn() :: else -> break od;
			idle(p); res = 1
		:: else
		fi
	:: o == oHAND ->
		find(i);
		if
		:: z < n && cTICKET ->
#if UPD > 0
			releaseMark(p, i, t, b, 0);
#endif
			end_turn(); res = 1
		:: else
		fi
	:: o == oREM -> /* every id whose request had no answer */
		x = 0;
		do
		:: x < n ->
			if
			:: OWNER(hid[x]) == p && (b & BIT(hid[x])) -> z = x; end_turn(); res = 1
			:: else -> x++
			fi
		:: else -> break
		od
	:: o == oRESET ->
		if
		:: pres && n == 0 && IDLEFOR(t) -> idle(p); res = 1
		:: else
		fi
	:: o == oEVICT ->
		find(i);
		if
#ifdef BUG_EVICT_UNCONDITIONAL
		:: z < n ->
#else
		:: z < n && hbt[z] == b && cEVICT ->
#endif
			/* only its holder or an operator removes a confirmed entry */
			assert(!CLOSEDID(i) || !(conf & (1 << TICKETAT(z))) || broken_confirm);
#if UPD > 0
			y = OWNER(i);
			turnover(y, i, t, TAKEN);
#ifndef BUG_EVICT_NO_MARK
			me = i; met = t;
#endif
#endif
			end_turn(); res = 1
		:: else
		fi
	:: o == oSWEEP ->
		if
		:: row[t] != 0 && row[t] == b -> droprow(t); res = 1
		:: else
		fi
	:: o == oDEL ->
		if
		:: row[t] != 0 && ROWNER(row[t]) == p -> droprow(t); res = 1
		:: else
		fi
	:: o == oFENCE ->
		find(i);
		if
		:: z < n && cTICKET && cFENCE ->
			NOTENDED(t);
			assert(won == 0 || i != sid || broken_resume);
			/* the write commits: an exclusive holder is alone, and no other
			 * process was granted the lock exclusively in between */
			assert(b != EXCL || n == 1 || broken_fence);
			y = 0;
			do :: y < NP -> assert(y == p || gx[y] <= t || broken_fence); y++ :: else -> break od;
			res = 1
		:: else
		fi
#if UPD > 0
	:: o == oUPD ->
		find(i);
		if
		:: cUPD && (ASKSFAST(b) == 0 || cIDLEUPD) ->
			/* the update is made: once, by a holder, and not after a call
			 * reported that it was not made */
			assert(wr[p] == 0 || ANEW || broken_written);
			assert(!(denied[p] & (1 << ASKSCALL(b))) || ANEW || broken_reported);
			assert(!settled[p] || ANEW || broken_settled);
			assert((z < n && n == 1) || broken_fence);
			y = 0;
			do :: y < NP -> assert(y == p || gx[y] <= t || broken_fence); y++ :: else -> break od;
			wr[p] = 1 + ASKSCALL(b); out[p] = 1;
			releaseMark(p, i, t, ASKSCALL(b), ASKSFAST(b));
			end_turn();
			if :: ASKSFAST(b) -> idle(p) :: else fi;
			res = 1
		:: else
		fi
#endif
	:: o == oRESUME -> /* b: the mode it believes in */
		find(sid);
		if
#ifdef BUG_RESUME_NO_HELD
		:: 1 ->
#else
#ifdef BUG_RESUME_HANDLE_MODE
		:: z < n && cTICKET && (b != EXCL || WIDE) ->
#else
		:: z < n && cRESUME && (b != EXCL || (mode != SHRD && NARROW)) ->
#endif
#endif
			NOTENDED(t);
			won++;
			assert(won < 2 || broken_resume);
			y = 0;
			do :: y < NP -> assert(gx[y] <= t || b == 0 || broken_fencing); y++ :: else -> break od;
#ifndef BUG_RESUME_NO_REMOVE
			if :: z < n -> cut() :: else fi;
#endif
			out[0] = 1; g[p] = t; fb = RESUMEBEAT;
			put(i, t, b, fb); res = 1
		:: else
		fi
#ifdef PLACE
	:: o == oPLACE -> /* the row gets another id, and so another owner */
		if
#ifdef BUG_PLACE_NO_ID
		:: row[t] != 0 ->
#else
		:: row[t] == srow ->
#endif
			won++;
			assert(won < 2 || broken_resume);
			/* a process that passed the row has passed it permanently */
			owed[p] = owed[0]; owed[0] = 0; row[t] = ROW(p, b); res = 1
		:: else -> res = (row[t] != 0 && ROWNER(row[t]) == p)
		fi
#endif
	fi;
	z = 0; mo = 0; fb = 0
	}
}

inline later(o, p, i, t, b) {
	d_step {
	x = 0;
	do :: dop[x] != 0 -> x++ :: else -> break od;
	dop[x] = o; dp[x] = p; did[x] = i; dt[x] = t; db[x] = b; bDup--
	}
}

/* The fates of a request. */
#define ANSWERED 0
#define NOANSWER 1   /* it is applied, and its answer is lost */
#define NOREQUEST 2  /* it is lost */
#define LATER 3      /* it is late */
#define TWICE 4      /* it is applied twice */
hidden byte fate;

/* Process p sends a request. unkn: there was no answer. The request may have been
 * applied already, may be applied later, or never. */
inline send(o, p, i, t, b) {
	unkn = 0; fate = ANSWERED;
	if
	:: true
#if LOST > 0
	:: bLost > 0 -> bLost--; fate = NOANSWER
	:: bLost > 0 -> bLost--; fate = NOREQUEST
#endif
#if DUP > 0
	:: bDup > 0 -> fate = LATER
#ifndef ONCE
	:: bDup > 0 -> fate = TWICE
#endif
#endif
	fi;
#if DUP > 0
	if :: fate == LATER || fate == TWICE -> later(o, p, i, t, b) :: else fi;
	if :: fate == TWICE -> twice = 1 :: else fi;
#endif
	if :: fate == ANSWERED || fate == NOANSWER || fate == TWICE -> apply(o, p, i, t, b) :: else fi;
	if :: fate == ANSWERED || fate == TWICE :: else -> unkn = 1; res = 0 fi;
	fate = 0
}

#if DUP > 0
/* The network applies late requests at any time, in any order. */
active proctype Net() {
	byte m = 0;
end:	do
	:: atomic { dop[0] != 0 -> m = 0; goto come }
#if SLOTS > 1
	:: atomic { dop[1] != 0 -> m = 1; goto come }
#endif
	od;
come:	atomic {
		apply(dop[m], dp[m], did[m], dt[m], db[m]);
		res = 0; dop[m] = 0; dp[m] = 0; did[m] = 0; dt[m] = 0; db[m] = 0; m = 0;
		goto end
	}
}
#endif

#if CRASH > 0
/* A process crashes at any time. */
active proctype Death() {
	byte p = 0;
end:	do
	:: atomic { bCrash > 0 && fin < NP ->
		bCrash--;
		if
		:: !dead[0] -> p = 0
		:: !dead[NP-1] -> p = NP-1
#if NP > 2
		:: !dead[1] -> p = 1
#endif
		fi;
		dead[p] = 1; lv[p] = 0; unk[p] = 0; wtk[p] = 0; owed[p] = 0; bel[p] = 0;
		p = 0 }
	od
}
#endif

#if CLOSED > 0
/* An operator ends a fail-closed lock (Operator.Evict) after its holder has crashed,
 * and OPER times by mistake. */
#define ORPHAN(s) (n > s && CLOSEDID(hid[s]) && hbt[s] > 0 && dead[OWNER(hid[s])])
active proctype Operator() {
end:	do
	:: atomic { ORPHAN(0) -> z = 0; end_turn(); z = 0 }
	:: atomic { ORPHAN(1) -> z = 1; end_turn(); z = 0 }
#if OPER > 0
	:: atomic { bOper > 0 && n > 0 && CLOSEDID(hid[0]) -> bOper--; out[OWNER(hid[0])] = 1; z = 0; end_turn(); z = 0 }
	:: atomic { bOper > 0 && n > 1 && CLOSEDID(hid[1]) -> bOper--; out[OWNER(hid[1])] = 1; z = 1; end_turn(); z = 0 }
#endif
	od
}
#endif

#if DROP > 0
/* Another program deletes the item that carries the record and creates it again.
 * Its tickets start at 1 again. The checks of tickets apply to one item. */
active proctype Drop() {
end:	do
	:: atomic { bDrop > 0 && fin < NP ->
		d_step {
		bDrop--; leased = 1; mr = 0; mrt = 0; mrc = 0; me = 0; met = 0;
		do :: n > 0 -> z = n-1; y = OWNER(hid[z]); x = hid[z]; mo = TICKETAT(z); turnover(y, x, mo, TAKEN); cut() :: else -> break od;
		tn = 0; sa = 0; gr = 0; pres = 0; mode = 0; ended = 0; conf = 0;
		y = 0;
		do :: y < NP -> g[y] = 0; gx[y] = 0; owed[y] = 0; y++ :: else -> break od;
		z = 0; y = 0; x = 0; mo = 0
		} }
	od
}
#endif

/* ahead: live rows ahead of ticket t; gone: the first expired row; more: there are
 * further expired rows. */
inline rows(t) {
	d_step {
	ahead = 0; gone = 0; more = 0; x = 1;
	do
	:: x < t ->
		if
		:: row[x] != 0 && !LIVEROW(x) -> if :: gone == 0 -> gone = x :: else -> more = 1 fi
		:: row[x] != 0 && LIVEROW(x) && x > FLOOR -> ahead = 1
		:: else
		fi;
		x++
	:: else -> break
	od;
#ifdef BUG_READER_SKIPS
	if :: HAS(READERS,p) -> ahead = 0 :: else fi;
#endif
	x = 0
	}
}

#define NEWID(p) assert(nx < K || broken_attempts); id = ID(p, nx); nx++; lv[p] = lv[p] | BIT(id)

/* A process. From N on, a process that resumes the lock of process 0 by its
 * handle. */
proctype Main(byte p) {
	byte nx = 0;      /* the next attempt */
	byte t = 0;       /* my ticket */
	byte id = 0;      /* of the current attempt, then of the grant */
	byte md = MODE(p); /* the mode of the lock, held or requested */
	byte rid = 0;     /* of my row */
	bool claimed = 0, fast = 0, more = 0, fenced = 0, wants = HAS(DOWN,p);
	bool ahead = 0;
	byte gone = 0, gb = 0, tgt = 0, tb = 0, tt = 0, cycle = 0;
#if UPD > 0
	byte call = 0;    /* number of the release call: UpdateAndRelease, then Release */
	bool form = 0;    /* the fast form */
#endif
	{
	if :: p >= N -> goto resume :: p < N fi;
take:	skip;
	atomic {
		NEWID(p);
		t = 0; rid = 0;
		send(oTAKE, p, id, 0, 0);
		if
		:: unkn -> unk[p] = unk[p] | BIT(id); unkn = 0;
			if :: goto take :: bGiveup > 0 -> bGiveup--; goto leave fi
		:: !unkn && MINE(p) -> res = 0; goto found
		:: !unkn && !MINE(p) && res -> res = 0; t = tn; wtk[p] = t; goto enqueue
		:: !unkn && !MINE(p) && !res -> goto leave /* an error: holders of a version without modes */
		fi
	}
enqueue: skip;
	atomic {
		send(oENQ, p, 0, t, rid);
		if
		:: unkn && rid < 3 -> unkn = 0; rid++; goto enqueue
		:: !unkn && res -> rid = row[t]%4; res = 0; goto wait
		:: !unkn && !res -> /* the row of another process: a resumed place, or a ticket of the deleted item's counter */
			assert(won > 0 || MADEANEW || broken_model); goto anew
		fi
	}
wait:	skip;
#ifdef PLACE
	atomic { if :: p == 0 && stk == 0 && row[t] != 0 && ROWNER(row[t]) == 0 -> stk = t; srow = row[t] :: else fi }
#endif
	/* LOOK: the record and the rows ahead, in one read. A look that leads only
	 * to another look is left out, so a waiter that is never granted is a
	 * deadlock. */
	atomic {
		TURN(p,t);
		rows(t);
		if
		:: bGiveup > 0 -> bGiveup--; goto leave
		:: MINE(p) -> goto found
		:: !MINE(p) && gone != 0 -> gb = row[gone]; goto sweep
		:: !MINE(p) && gone == 0 && bSweep > 0 && AHEAD_(t) -> /* a live row is judged to have expired */
			bSweep--; gone = FLOOR+1;
			do :: row[gone] == 0 -> gone++ :: else -> break od;
			gb = row[gone]; goto sweep
		:: !MINE(p) && gone == 0 && DEADIN ->
			x = 0;
			do :: !(DEAD1(x)) -> x++ :: else -> break od;
			tgt = hid[x]; tb = hbt[x]; tt = TICKETOF(x); x = 0; goto evict
		:: !MINE(p) && gone == 0 && !DEADIN && bEvict > 0 && ALIVE1(0) -> /* a live holder is judged to have expired */
			bEvict--; tgt = hid[0]; tb = hbt[0]; tt = TICKETOF(0); goto evict
		:: !MINE(p) && gone == 0 && !DEADIN && bEvict > 0 && ALIVE1(1) ->
			bEvict--; tgt = hid[1]; tb = hbt[1]; tt = TICKETOF(1); goto evict
		:: !MINE(p) && gone == 0 && !DEADIN && (t <= FLOOR || !pres || FOREIGN(t)) -> goto anew
		:: !MINE(p) && gone == 0 && !DEADIN && pres && !FOREIGN(t) && NOROW(p,t) && rid < 3 -> rid++; ahead = 0; goto enqueue
		:: !MINE(p) && gone == 0 && !DEADIN && pres && t > FLOOR && !FOREIGN(t) && !ahead && OPEN(p) -> goto claim
		fi
	}
sweep:	skip;
	atomic { send(oSWEEP, p, 0, gone, gb); gone = 0; gb = 0; more = 0; ahead = 0; unkn = 0; res = 0; goto wait }
evict:	skip;
	atomic { send(oEVICT, p, tgt, tt, tb); tgt = 0; tb = 0; tt = 0; ahead = 0; more = 0; unkn = 0; res = 0; goto wait }
claim:	skip;
	atomic {
		more = 0; ahead = 0;
		NEWID(p);
		send(oCLAIM, p, id, t, 0);
		if
		:: unkn -> unk[p] = unk[p] | BIT(id); unkn = 0; goto wait
		:: !unkn && MINE(p) -> res = 0; goto found
		:: !unkn && !MINE(p) -> res = 0; goto wait
		fi
	}
anew:	skip; /* the row is deleted before the next TAKE */
	atomic {
		more = 0; ahead = 0;
		if :: wtk[p] != 0 -> wtk[p] = 0; owed[p] = 0 :: else fi;
		send(oDEL, p, 0, t, 0);
		if :: unkn -> unkn = 0; goto anew :: !unkn -> res = 0; t = 0; goto take fi
	}
	/* Labels that are reached within the previous step are inside an atomic
	 * sequence, because a jump to a label before the sequence would end the step.
	 * The false keeps the sequence from being entered from above. */
	atomic { false;
found:		more = 0; ahead = 0; gone = 0;
		x = 0;
		do :: !(MINE1(p,x)) -> x++ :: else -> break od;
		id = hid[x]; claimed = (htk[x] != 0);
		/* a row that is left is deleted in the background, and has no effect */
		if :: t != 0 && row[t] != 0 && ROWNER(row[t]) == p -> row[t] = 0 :: else fi;
		t = TICKETAT(x); wtk[p] = 0; owed[p] = 0;
#ifdef BUG_FORGET_BEFORE_CONFIRM
		lv[p] = BIT(id); unk[p] = 0;
#endif
		fast = (!claimed && n == 1 && IDLEFOR(t));
		if
		:: CLOSEDID(id) && hbt[x] == 0 -> x = 0; goto confirm
		:: else -> x = 0; goto hold
		fi
	}
confirm: skip;
	atomic {
		send(oCONF, p, id, t, md);
		if
		:: unkn -> unk[p] = unk[p] | BIT(id); unkn = 0;
			if :: goto confirm :: bGiveup > 0 -> bGiveup--; goto leave fi
		:: !unkn && res -> res = 0; goto hold
		:: !unkn && !res && IN(id) -> goto hold /* an own request without an answer was applied */
		:: !unkn && !res && !IN(id) -> goto again /* overtaken, or evicted; the other ids are kept */
		fi
	}
	atomic { false;
hold:		lv[p] = BIT(id); unk[p] = 0;
		bel[p] = (PERMITS > 0 -> SHRD : md);
		out[p] = out[p] && (p == 0 && won > 0);
		together();
#if UPD > 0
		if :: HAS(UPD,p) -> gid[p] = id; gtk[p] = t; see(p) :: else fi;
#endif
#ifndef PLACE
		if :: RESUMERS > 0 && p == 0 && sid == 0 -> sid = id; stk = t :: else fi;
#endif
		goto held
	}
	atomic { false;
again:		claimed = 0; fast = 0; id = 0;
		if :: p >= N && srow == 0 -> goto end_ :: else -> goto take fi
	}
held:	skip;
	atomic {
		if
		:: bHB > 0 -> bHB--; send(oHB, p, id, t, md);
			if
			:: unkn -> unkn = 0; goto held
#if UPD > 0
			:: !unkn && res -> res = 0; if :: HAS(UPD,p) -> see(p) :: else fi; goto held
			:: !unkn && !res && HAS(UPD,p) && call > 0 ->
				decide(p, id, t, 3);
				if
				:: verdict == uHELD -> verdict = 0; goto held
				:: verdict == uEARLIER || verdict == uSOME -> verdict = 0; goto end_
				:: else -> verdict = 0; goto lost
				fi
			:: !unkn && !res && !(HAS(UPD,p) && call > 0) ->
#else
			:: !unkn && res -> res = 0; goto held
			:: !unkn && !res ->
#endif
				/* a reported loss is a loss */
				assert(!IN(id) || twice || broken_known); goto lost
			fi
		:: !fenced -> fenced = 1; send(oFENCE, p, id, t, md); unkn = 0; res = 0; goto held
#if UPD > 0
		:: HAS(UPD,p) && call < 2 -> form = fast; goto upd
#endif
		:: wants ->
#ifndef BUG_DOWN_BELIEF
			/* from the call on, whatever its outcome */
			bel[p] = SHRD;
#endif
			wants = 0; goto down
		:: bEvict > 0 && !CLOSEDID(id) -> bEvict--; goto lost /* by its own clock */
		:: !wants -> bel[p] = 0; if :: fast -> goto quick :: else -> goto hand fi
		fi
	}
#if UPD > 0
upd:	skip;
	atomic {
		send(oUPD, p, id, t, ASKS(call,form));
		if
		:: unkn -> unkn = 0; if :: goto upd :: call++; goto held fi
		:: !unkn && res -> res = 0; goto made
		:: !unkn && !res -> skip
		fi
		decide(p, id, t, call); /* by the record that refused it */
		if
		:: verdict == uHELD && form -> verdict = 0; form = 0; goto upd
		:: verdict == uHELD && !form -> verdict = 0; call++; goto held
		:: verdict == uTHIS || (verdict == uSOME && call == 0) -> verdict = 0; goto made
		:: verdict == uEVICTED -> verdict = 0;
			assert(wr[p] != 1 + call || ANEW || broken_reported);
			denied[p] = denied[p] | (1 << call); goto lost
		:: else -> verdict = 0; goto end_ /* released by the previous call, or unknown */
		fi
	}
	atomic { false;
made:		assert(wr[p] == 1 + call || ANEW || broken_reported);
		bel[p] = 0;
		if :: !form && pres && n == 0 && IDLEFOR(t) -> tgt = t; goto reset :: else -> goto end_ fi
	}
#endif
down:	skip;
	atomic {
		send(oDOWN, p, id, t, md);
		if
		:: unkn -> unkn = 0; if :: goto down :: goto held fi
		:: !unkn && !IN(id) -> res = 0; goto lost
		:: !unkn && IN(id) -> assert(res || mode == SHRD || broken_known); res = 0; md = SHRD; bel[p] = SHRD; fenced = 0; goto held
		fi
	}
#if UPD > 0
#define CALL call
#else
#define CALL 0
#endif
lost:	skip;
	atomic {
		bel[p] = 0; send(oHAND, p, id, t, CALL); leased = leased || unkn;
		if
		:: !unkn && !res && IN(id) -> goto orphan
		:: else -> unkn = 0; res = 0; goto end_
		fi
	}
	/* a TAKE that was applied twice has put the id back */
orphan:	skip;
	atomic { send(oREM, p, id, t, BIT(id)); leased = leased || unkn; unkn = 0; res = 0; goto end_ }
quick:	skip;
	atomic {
		send(oFAST, p, id, t, CALL);
		if
		:: unkn -> unkn = 0; goto quick
		:: !unkn && !res && IN(id) -> goto hand
		:: !unkn && (res || !IN(id)) -> goto released
		fi
	}
hand:	skip;
	atomic {
		send(oHAND, p, id, t, CALL);
		if
		:: unkn -> unkn = 0; goto hand
		:: !unkn && res && n == 0 && IDLEFOR(t) -> res = 0;
#if UPD > 0
			settled[p] = 1;
#endif
			tgt = t; goto reset
		:: !unkn && !(res && n == 0 && IDLEFOR(t)) -> goto released
		fi
	}
	atomic { false;
released:
#if UPD > 0
		if
		:: res -> settled[p] = 1
		:: !res && HAS(UPD,p) -> decide(p, id, t, call);
			if :: verdict != uEVICTED && verdict != uUNKNOWN -> settled[p] = 1 :: else fi;
			verdict = 0
		:: else
		fi;
#endif
		if :: !res && IN(id) -> goto orphan :: else -> res = 0; goto end_ fi
	}
reset: skip;
	atomic { send(oRESET, p, 0, tgt, 0); tgt = 0; unkn = 0; res = 0; goto end_ }
leave:	skip;
	atomic { lv[p] = 0; wtk[p] = 0; owed[p] = 0; more = 0; ahead = 0; gone = 0;
		if :: t == 0 -> goto remove :: else fi }
delete:	skip;
	atomic {
		send(oDEL, p, 0, t, 0);
		if :: unkn -> unkn = 0; goto delete :: !unkn -> res = 0; goto remove fi
	}
remove:	skip;
	atomic {
		if
		:: unk[p] == 0 -> goto gone_
		:: unk[p] != 0 && bCut > 0 -> bCut--; leased = 1; unk[p] = 0; goto end_
		:: unk[p] != 0 -> send(oREM, p, 0, 0, unk[p]);
			if
			:: unkn -> unkn = 0; goto remove
			:: !unkn && res && n == 0 && IDLEFOR(sa+1) -> res = 0; unk[p] = 0; tgt = sa+1; goto reset
			:: !unkn && !(res && n == 0 && IDLEFOR(sa+1)) -> res = 0; unk[p] = 0; goto gone_
			fi
		fi
	}
	atomic { false;
gone_:		/* nothing that was applied before is left */
		x = 0;
		do :: x < n -> assert(OWNER(hid[x]) != p || twice || broken_left); x++ :: else -> break od;
		x = 0; goto end_ }
resume:	skip;
#ifdef PLACE
	atomic {
		(stk != 0 || fin >= N);
		if :: stk == 0 -> goto end_ :: else fi;
		t = stk; wtk[p] = t;
		send(oPLACE, p, 0, t, rid);
		if
		:: unkn -> unkn = 0; goto resume
		:: !unkn && res -> res = 0; goto wait
		:: !unkn && !res -> goto end_
		fi
	}
#endif
	atomic {
		(sid != 0 || fin >= N);
		if :: sid == 0 -> goto end_ :: else fi;
		NEWID(p);
		send(oRESUME, p, id, stk, md);
		if
		:: unkn -> unk[p] = unk[p] | BIT(id); unkn = 0;
			if :: goto resume :: bGiveup > 0 -> bGiveup--; goto leave fi
		:: !unkn && MINE(p) -> res = 0; goto found
		:: !unkn && !MINE(p) && IN(sid) && mode == SHRD && md == EXCL -> md = SHRD; goto resume
		:: !unkn && !MINE(p) && !(IN(sid) && mode == SHRD && md == EXCL) -> lv[p] = 0; unk[p] = 0; goto end_
		fi
	}
end_:	skip;
	atomic {
		lv[p] = 0; wtk[p] = 0; owed[p] = 0; unk[p] = 0; bel[p] = 0; out[p] = 0;
		claimed = 0; fast = 0; fenced = 0; t = 0; id = 0; rid = 0; tgt = 0; tb = 0; md = MODE(p); wants = HAS(DOWN,p);
		res = 0; cycle++;
#if UPD > 0
		form = 0; call = 0; gid[p] = 0; gtk[p] = 0; srid[p] = 0; srtk[p] = 0; srcall[p] = 0; seid[p] = 0; setk[p] = 0; by[p] = 0;
#endif
		if
		:: cycle < CYCLES && p < N -> goto take
		:: else
		fi
	}
	atomic { nx = 0; cycle = 0; fin++; goto stop }
	} unless { dead[p] -> fin++ }
stop:	skip
}

#if SLOTS > 1
#define ALLCOME (dop[0] == 0 && dop[1] == 0)
#else
#define ALLCOME (dop[0] == 0)
#endif

init {
	byte i = 0;
	atomic {
		do
		:: i < NP -> run Main(i); i++
		:: else -> break
		od
	}
	/* All processes have ended, and all their requests were applied. */
	atomic {
		fin == NP && ALLCOME;
		if
		:: bCrash == CRASH && bDup == DUP && !leased ->
			assert(n == 0 || broken_clean);
			i = 1;
			do :: i < T -> assert(row[i] == 0 || broken_clean); i++ :: else -> break od;
			/* without any fault, the next TAKE is granted at once */
			assert(!pres || OLD || bLost < LOST || bEvict < EVICT || bSweep < SWEEP || bGiveup < GIVEUP || bOper < OPER || broken_reset)
		:: else
		fi
	}
}
