package faults_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// effect is what a malformed attribute does to a queue.
type effect int

const (
	ofRecord  effect = iota // the record is malformed: no call works
	ofEntry                 // the entry counts as a holder, which no client evicts; other holders are unaffected
	ofDisplay               // Inspect shows a Problem; the lease counts
	ofNothing               // it is ignored
)

// field is an attribute of the record, of an entry, or of a row.
type field struct {
	effect   effect
	need     string                 // its type
	optional bool                   // it may be absent
	bad      []types.AttributeValue // values of that type that it cannot have
}

func nums(values ...any) (all []types.AttributeValue) {
	for _, v := range values {
		all = append(all, av.Num(v))
	}
	return all
}

func strs(values ...string) (all []types.AttributeValue) {
	for _, v := range values {
		all = append(all, av.Str(v))
	}
	return all
}

// recordFields are the attributes of a record, with those of its entries below "holders.*". A test fails for one that is
// not here.
var recordFields = func() map[string]field {
	tickets, whole := nums(-1, "0.5", "1E+38"), nums("0.5", "1E+30")
	return map[string]field{
		"ticketNumber": {ofRecord, "a number", false, nums(-1, "777.5", "1E+38")}, // ENTER replaces one below its ticket
		"servingAfter": {ofRecord, "a number", false, append(nums(99), tickets...)},
		"granted":      {ofRecord, "a number", false, append(nums(99), tickets...)},
		"holders":      {ofRecord, "a map", false, nil},
		"holdMode":     {ofRecord, "a string", true, strs("Shared", "")},
		"permits":      {ofRecord, "a number", true, nums(0, -1, 501, "1.5")},
		"scope":        {ofRecord, "a string", true, strs("world", "")},
		"released":     {ofNothing, "", true, nil},
		"evicted":      {ofNothing, "", true, nil},
		"turn":         {ofNothing, "", true, nil},
		"unsettled":    {ofNothing, "", true, nil},

		"holders.*":            {ofEntry, "a map", true, nil},
		"holders.*.beat":       {ofEntry, "a number", false, whole},
		"holders.*.ttl":        {ofEntry, "a number", false, append(nums(0, -1, 8*24*time.Hour.Milliseconds()), whole...)},
		"holders.*.until":      {ofEntry, "a number", true, whole},
		"holders.*.delay":      {ofEntry, "a number", true, append(nums(-1, 25*time.Hour.Milliseconds()), whole...)},
		"holders.*.failClosed": {ofEntry, "a boolean", false, nil}, // without it there must be a length
		"holders.*.ticket":     {ofEntry, "a number", true, tickets},
		"holders.*.made":       {ofEntry, "a number", true, whole},
		"holders.*.owner":      {ofDisplay, "a string", true, nil},
		"holders.*.mode":       {ofDisplay, "a string", true, nil},
		"holders.*.named":      {ofDisplay, "a boolean", true, nil},
		"holders.*.since":      {ofDisplay, "a number", true, whole},
		"holders.*.dataSet":    {ofDisplay, "a number", true, whole},
		"holders.*.slot":       {ofNothing, "", true, append(nums(-1, 500), whole...)},
		"holders.*.data":       {ofNothing, "", true, nil},
	}
}()

// kinds are queues of each kind, in use. Each has a newcomer's options.
var kinds = map[string]struct {
	cfg  queuelock.Config
	opts []queuelock.AcquireOption
	use  func(m *mutants) *queuelock.Lock // that is held, if there is one
}{
	"Idle": {use: func(m *mutants) *queuelock.Lock {
		locktest.Release(m.t, m.lock(waitpolicy.NoWait))
		return nil
	}},
	"Exclusive": {use: func(m *mutants) *queuelock.Lock {
		first := m.lock(waitpolicy.NoWait)
		second := m.queueUp(m.t.Context(), queuelock.LockDelay(time.Second), queuelock.WithData([]byte("x")))
		locktest.Release(m.t, first)
		lock := m.granted(second)
		locktest.OK(m.t, errors.Join(lock.SetData(m.t.Context(), []byte("y")), lock.Transact(m.t.Context(), locktest.Deposit(m.table, nil))))
		m.change([]string{"unsettled"}, &types.AttributeValueMemberNS{Value: []string{"7"}})
		return lock
	}},
	"FailClosed": {use: func(m *mutants) *queuelock.Lock { return m.lock(waitpolicy.NoWait, queuelock.FailClosed()) }},
	"Named": {use: func(m *mutants) *queuelock.Lock {
		first := m.lock(waitpolicy.NoWait)
		second := m.queueUp(m.t.Context())
		third := m.queueUp(m.t.Context())
		locktest.Release(m.t, first)
		locktest.Release(m.t, m.granted(second))
		return m.granted(third)
	}},
	"Shared": {use: func(m *mutants) *queuelock.Lock {
		m.lock(waitpolicy.NoWait, queuelock.Shared())
		return m.lock(waitpolicy.For(time.Second), queuelock.Shared())
	}},
	"Permits": {opts: []queuelock.AcquireOption{queuelock.Permits(1)}, use: func(m *mutants) *queuelock.Lock {
		return m.lock(waitpolicy.NoWait, queuelock.Permits(1))
	}},
	"WiderScope": {cfg: queuelock.Config{Scope: ticket.ScopeEntity}, use: func(m *mutants) *queuelock.Lock {
		return m.lock(waitpolicy.NoWait)
	}},
}

// rowFields are the attributes of a row. A malformed row is waited for, and then swept.
var rowFields = func() map[string]field {
	whole := nums("0.5", "1E+30")
	return map[string]field{
		"id":        {ofEntry, "a string", false, nil},
		"owner":     {ofEntry, "a string", true, nil},
		"mode":      {ofEntry, "a string", true, nil},
		"entryId":   {ofEntry, "a string", true, nil},
		"createdAt": {ofEntry, "a number", true, whole},
		"beat":      {ofEntry, "a number", false, whole},
		"ttl":       {ofEntry, "a number", false, append(nums(0, -1, 8*24*time.Hour.Milliseconds()), whole...)},
		"until":     {ofEntry, "a number", true, whole},
		"expiresAt": {ofNothing, "", true, nil},
		"bell":      {ofNothing, "", true, strs("10.0.0.5:53 x", strings.Repeat("x", 1000))},
	}
}()

// mutants is a queue whose items are replaced by malformed ones.
type mutants struct {
	t     *testing.T
	table *queuelocktest.Table
	cfg   queuelock.Config
	n     int
}

func newMutants(t *testing.T, cfg queuelock.Config) *mutants {
	return &mutants{t: t, table: queuelocktest.NewTable(t, queuelocktest.WithLatency(4*time.Millisecond)), cfg: cfg}
}

// open opens another client.
func (m *mutants) open() (*queuelock.Client, *queuelocktest.Client) {
	m.n++
	return locktest.OpenMet(m.t, m.table, fmt.Sprintf("client-%d", m.n), m.cfg)
}

func (m *mutants) lock(wait waitpolicy.Wait, opts ...queuelock.AcquireOption) *queuelock.Lock {
	m.t.Helper()
	c, _ := m.open()
	return locktest.Acquire(m.t, c, wait, opts...)
}

// queueUp starts an Acquire of another client, and waits until it has a row.
func (m *mutants) queueUp(ctx context.Context, opts ...queuelock.AcquireOption) <-chan locktest.Outcome {
	c, _ := m.open()
	done := locktest.QueueUp(ctx, c, waitpolicy.Forever, opts...)
	time.Sleep(300 * time.Millisecond)
	return done
}

// granted returns the lock of an Acquire that is granted soon.
func (m *mutants) granted(done <-chan locktest.Outcome) *queuelock.Lock {
	m.t.Helper()
	return locktest.Within(m.t, "a waiter", time.Minute, done).Lock
}

// change changes what is at a path in the record. Nil removes it.
func (m *mutants) change(path []string, v types.AttributeValue) {
	m.t.Helper()
	names, expression := map[string]string{}, ""
	for i, name := range path {
		key := fmt.Sprintf("#n%d", i)
		names[key], expression = name, expression+"."+key
	}
	if v == nil {
		edit(m.t, m.table, locktest.RecordKey(), "REMOVE "+expression[1:], names, nil)
		return
	}
	edit(m.t, m.table, locktest.RecordKey(), "SET "+expression[1:]+" = :v", names, av.Item{":v": v})
}

// recordOf returns the record of order-7.
func recordOf(t *testing.T, table *queuelocktest.Table) av.Item {
	t.Helper()
	for _, item := range table.Items() {
		if av.Text(item["pk"]) == locktest.Order.Entity && av.Text(item["sk"]) == av.Text(locktest.RecordKey()["sk"]) {
			return item
		}
	}
	t.Fatal("there is no record")
	return nil
}

// mutation is a malformed value of one attribute.
type mutation struct {
	path  []string
	field field
	is    string               // what an error says that it is, at least
	value types.AttributeValue // nil: it is missing
}

func (mu mutation) name() string { return strings.Join(mu.path, ".") }

func (mu mutation) String() string { return mu.name() + " is " + mu.is }

// spoils reports whether the mutation has that effect.
func (mu mutation) spoils(e effect) bool {
	return mu.field.effect == e && (mu.value != nil || !mu.field.optional)
}

// fractional reports whether the mutation is a fraction, for which no condition of a write can ask.
func (mu mutation) fractional() bool {
	n, ok := mu.value.(*types.AttributeValueMemberN)
	return ok && strings.Contains(n.Value, ".")
}

// mutationsOf returns the mutations of all attributes of an item, and of those of fields that it does not have.
func mutationsOf(t *testing.T, item av.Item, fields map[string]field) (all []mutation) {
	all = below(t, nil, item, fields)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if _, has := item[name]; !has && !strings.Contains(name, ".") {
			mutations := fields[name].mutations([]string{name})
			all = append(all, mutations[:len(mutations)-1]...) // it is missing already
		}
	}
	i := 0
	return slices.DeleteFunc(all, func(mutation) bool { i++; return i%locktest.Scaled(1, 11) != 0 })
}

func below(t *testing.T, path []string, item av.Item, fields map[string]field) (all []mutation) {
	for _, name := range slices.Sorted(maps.Keys(item)) {
		path, general := append(slices.Clone(path), name), name
		switch {
		case name == "pk" || name == "sk":
			continue
		case path[0] != "holders":
			general = path[0]
		case len(path) > 1:
			general = strings.Join(append([]string{"holders", "*"}, path[2:]...), ".")
		}
		f, known := fields[general]
		if !known {
			t.Errorf("attribute %s is not in the list", general)
		}
		all = append(all, f.mutations(path)...)
		if inner, ok := item[name].(*types.AttributeValueMemberM); ok {
			all = append(all, below(t, path, inner.Value, fields)...)
		}
	}
	return all
}

// mutations returns those of one attribute. The last one is that it is missing.
func (f field) mutations(path []string) (all []mutation) {
	wrong := wrongTypes()
	for _, kind := range slices.Sorted(maps.Keys(wrong)) {
		if kind != f.need {
			all = append(all, mutation{path, f, kind, wrong[kind]})
		}
	}
	for _, v := range f.bad {
		is := ""
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			is = fmt.Sprintf("%q", v.Value)
		case *types.AttributeValueMemberN:
			is = v.Value
			if i := strings.IndexAny(is, "E."); i >= 0 {
				is = is[:1] // an engine prints all digits
			}
		}
		all = append(all, mutation{path, f, is, v})
	}
	if len(path) == 2 && path[0] == "holders" {
		return all // one holder less is well formed
	}
	return append(all, mutation{path, f, "missing", nil})
}

// replaced returns a copy of an item with the value at the path; nil removes it.
func replaced(item av.Item, path []string, v types.AttributeValue) av.Item {
	switch inner, _ := item[path[0]].(*types.AttributeValueMemberM); {
	case len(path) > 1:
		return av.With(item, av.Item{path[0]: av.Object(replaced(inner.Value, path[1:], v))})
	case v == nil:
		return av.Without(item, path[0])
	}
	return av.With(item, av.Item{path[0]: v})
}

// demand finds what a value should be.
var demand = regexp.MustCompile(`, .* (is|are) needed$|, .* are possible$|, (not below|above) |^and servingAfter must be present together`)

// check checks that an error contains one MalformedError, which names the item, the attribute, what it is, and what it
// should be.
func (mu mutation) check(t *testing.T, item, what string, err error) {
	t.Helper()
	e, ok := errors.AsType[*queue.MalformedError](err)
	if !ok || strings.Count(err.Error(), "malformed ") != 1 || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v: %s: %v, want one MalformedError", mu, what, err)
		return
	}
	alone := e.Attribute == "holders" && strings.HasPrefix(e.Problem, "and servingAfter must be present together")
	name := strings.Replace(mu.name(), ".failClosed", ".ttl", map[bool]int{true: 1}[mu.value == nil]) // which only such an entry lacks
	names := e.Attribute == name && (strings.HasPrefix(e.Problem, "is "+mu.is) || mu.fractional() && strings.Contains(e.Problem, ".5, "))
	if e.Item != item || !names && !alone || !demand.MatchString(e.Problem) {
		t.Errorf("%v: %s: %v, want the queue, the attribute, what it is, and what it should be", mu, what, err)
	}
}

// The items, as an error names them.
const (
	recordOfOrder = `serving record of "order-7 lock"`
	rowOfOrder    = `queue row 2 of "order-7 lock"`
)

// TestMalformed replaces each attribute of records, entries and marks in turn by values that it cannot have, while clients
// come to the queue.
func TestMalformed(t *testing.T) {
	for name, kind := range kinds {
		locktest.InBubble(t, name, func(t *testing.T) {
			kind.cfg.TTL = 24 * time.Hour
			m := newMutants(t, kind.cfg)
			kind.use(m)
			time.Sleep(10 * time.Second)
			record := recordOf(t, m.table)
			holders := len(locktest.Entries(m.table))
			newcomer, db := m.open()
			other := locktest.Must(newcomer.Acquire(t.Context(), queuelock.Key{Entity: "other"}, waitpolicy.NoWait))
			items := len(m.table.Items())
			for _, mu := range mutationsOf(t, record, recordFields) {
				if holders == 0 && mu.name() == "granted" {
					mu.field.optional = true // no ticket was claimed
				}
				locktest.Write(t, m.table, replaced(record, mu.path, mu.value))
				item := recordOf(t, m.table)
				sent := locktest.Cost(db, func() {
					for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(100 * time.Millisecond)} {
						mu.acquire(t, newcomer, wait, holders, kind.opts)
					}
					mu.operate(t, newcomer)
				}).Sent
				if sent > 20 {
					t.Errorf("%v: %d requests", mu, sent)
				}
				if holders > 0 || mu.spoils(ofRecord) {
					mu.unchanged(t, item, recordOf(t, m.table))
				}
				if n := len(m.table.Items()); n != items {
					t.Errorf("%v: %d items, want %d", mu, n, items)
				}
			}
			locktest.Release(t, other)
		})
	}
}

// acquire acquires the lock of a record with a number of holders.
func (mu mutation) acquire(t *testing.T, c *queuelock.Client, wait waitpolicy.Wait, holders int, opts []queuelock.AcquireOption) {
	t.Helper()
	lock, err := c.Acquire(t.Context(), locktest.Order, wait, opts...)
	busy := errors.Is(err, queuelock.ErrNotAcquired)
	_, mismatch := errors.AsType[*queue.MismatchError](err)
	switch {
	case mu.spoils(ofRecord), mu.spoils(ofEntry) && holders == 1:
		mu.check(t, recordOfOrder, wait.String(), err)
		if busy {
			t.Errorf("%v: %v", mu, err)
		}
	case mu.value == nil && (mu.name() == "permits" || mu.name() == "scope"):
		if !mismatch {
			t.Errorf("%v: %v, want a MismatchError", mu, err)
		}
	case holders > 0 && !busy, holders == 0 && err != nil:
		t.Errorf("%v: %s: %v", mu, wait, err)
	}
	if err == nil {
		locktest.Release(t, lock)
	}
}

// operate calls what operators do.
func (mu mutation) operate(t *testing.T, c *queuelock.Client) {
	t.Helper()
	state, err := c.Viewer().Inspect(t.Context(), locktest.Order)
	_, locked := c.IsLocked(t.Context(), locktest.Order)
	swept, sweep := c.Operator().Sweep(t.Context(), locktest.Order)
	if mu.spoils(ofRecord) {
		mu.check(t, recordOfOrder, "Inspect", err)
		mu.check(t, recordOfOrder, "IsLocked", locked)
		mu.check(t, recordOfOrder, "Sweep", sweep)
		return
	}
	if err != nil || locked != nil || sweep != nil || swept != (sweeper.Swept{}) {
		t.Errorf("%v: %v, %v, %v, and %v was swept", mu, err, locked, sweep, swept)
		return
	}
	problems := 0
	for _, h := range state.Serving {
		if h.Remaining <= 0 {
			t.Errorf("%v: a holder has expired: %+v", mu, h)
		}
		if h.Problem != nil {
			problems++
			mu.check(t, recordOfOrder, "a holder's Problem", h.Problem)
		}
	}
	want := 0
	if mu.spoils(ofEntry) || mu.spoils(ofDisplay) {
		want = 1
	}
	if mu.spoils(ofEntry) && len(state.Serving) == 1 {
		mu.check(t, recordOfOrder, "Evict", c.Operator().Evict(t.Context(), locktest.Order, state.Serving[0]))
	}
	if problems != want {
		t.Errorf("%v: %d problems, want %d: %+v", mu, problems, want, state)
	}
}

// unchanged checks that nothing but what a refusal could not prevent was written.
func (mu mutation) unchanged(t *testing.T, was, is av.Item) {
	t.Helper()
	var may []string
	if !mu.spoils(ofRecord) || mu.fractional() {
		may = []string{"ticketNumber", "holdMode", "evicted"} // by TAKE: no condition can ask for a whole number, or look into entries
	}
	if was["holders"] == nil {
		may = append(may, "servingAfter", "holders") // and the entry was removed
	}
	for name := range av.With(was, is) {
		if !reflect.DeepEqual(was[name], is[name]) && !slices.Contains(may, name) {
			t.Errorf("%v: %s has changed", mu, name)
		}
	}
}

// TestMalformedInUse spoils a record under a holder and a waiter.
func TestMalformedInUse(t *testing.T) {
	for name, kind := range kinds {
		if name == "Idle" || name == "Named" || name == "WiderScope" {
			continue // nothing holds the lock, or it is held as in Exclusive
		}
		kind.cfg.TTL, kind.cfg.WaiterTTL = locktest.TTL, 4*time.Second
		for _, mu := range mutationsInUse(t, name) {
			locktest.InBubble(t, name+"/"+mu.String(), func(t *testing.T) {
				m := newMutants(t, kind.cfg)
				held := kind.use(m)
				id, holders := m.serving(held)
				if len(mu.path) > 1 && mu.path[0] == "holders" {
					mu.path = append([]string{"holders", id}, mu.path[2:]...)
				}
				c, _ := m.open()
				other := locktest.Must(c.Acquire(t.Context(), queuelock.Key{Entity: "other"}, waitpolicy.NoWait))
				waiting := m.queueUp(t.Context(), kind.opts...)
				m.change(mu.path, mu.value)
				spoilt, before := time.Now(), m.table.Counts().Total().Sent
				time.Sleep(5 * locktest.TTL)
				if sent := m.table.Counts().Total().Sent - before; sent > 8*5*int(locktest.TTL/time.Second) {
					t.Errorf("%d requests", sent)
				}
				if mu.spoils(ofRecord) || mu.spoils(ofEntry) && holders == 1 {
					got := locktest.Within(t, "the waiter", time.Second, waiting)
					mu.check(t, recordOfOrder, "the waiter", got.Err)
					if got.At.Sub(spoilt) > 2*time.Second {
						t.Errorf("the waiter had to wait for %v", got.At.Sub(spoilt))
					}
				} else {
					locktest.StillWaits(t, "the waiter", waiting)
				}
				// The lock stays if its own writes are applied, and can be renewed by them only.
				for what, err := range map[string]error{"the holder": held.Err(), "its release": held.Release(t.Context())} {
					if err != nil {
						mu.check(t, recordOfOrder, what, err)
					}
				}
				if mu.spoils(ofEntry) {
					if _, after := m.serving(held); after != holders-1 {
						t.Errorf("%d holders are left of %d, want one fewer: no other client removes the entry", after, holders)
					}
				}
				locktest.Release(t, other)
				for _, item := range m.table.Items() {
					if sk := av.Text(item["sk"]); strings.Contains(sk, "/") && sk != av.Text(locktest.RecordKey()["sk"]) && mu.spoils(ofRecord) {
						t.Errorf("a row is left: %s", sk)
					}
				}
			})
		}
	}
}

// TestMalformedRows replaces each attribute of a row ahead. The row is named, waited for, and swept.
func TestMalformedRows(t *testing.T) {
	locktest.InBubble(t, "all", func(t *testing.T) {
		const minute = time.Minute + locktest.TakenOverWithin
		m := newMutants(t, queuelock.Config{WaiterTTL: minute})
		held := m.lock(waitpolicy.NoWait)
		ctx, leave := context.WithCancel(t.Context())
		waiting := m.queueUp(ctx)
		row := m.table.Items()[1]
		leave()
		<-waiting
		locktest.Release(t, held) // with a ticket outstanding
		record := recordOf(t, m.table)
		for _, mu := range mutationsOf(t, row, rowFields) {
			newcomer, db := m.open() // which has not seen the row
			valid := av.Item{"until": av.Num(time.Now().Add(minute).UnixMilli())}
			locktest.Write(t, m.table, record, replaced(av.With(row, valid), mu.path, mu.value))
			sent := locktest.Cost(db, func() {
				for _, wait := range []waitpolicy.Wait{waitpolicy.NoWait, waitpolicy.For(100 * time.Millisecond)} {
					_, err := newcomer.Acquire(t.Context(), locktest.Order, wait)
					if !errors.Is(err, queuelock.ErrNotAcquired) {
						t.Errorf("%v: %v: %v", mu, wait, err)
					}
					if mu.spoils(ofEntry) {
						mu.check(t, rowOfOrder, wait.String(), err)
					}
				}
				state := locktest.Must(newcomer.Viewer().Inspect(t.Context(), locktest.Order))
				if len(state.Waiting) != 1 || state.Waiting[0].Remaining <= 0 || (state.Waiting[0].Problem != nil) != mu.spoils(ofEntry) {
					t.Errorf("%v: waiting %+v", mu, state.Waiting)
				} else if mu.spoils(ofEntry) {
					mu.check(t, rowOfOrder, "Inspect", state.Waiting[0].Problem)
				}
				if swept := locktest.Must(newcomer.Operator().Sweep(t.Context(), locktest.Order)); swept != (sweeper.Swept{}) {
					t.Errorf("%v: swept %v", mu, swept)
				}
				begun := time.Now()
				locktest.Release(t, locktest.Acquire(t, newcomer, waitpolicy.For(10*time.Minute)))
				if took := time.Since(begun); took > minute+time.Second {
					t.Errorf("%v: granted after %v", mu, took)
				}
			}).Sent
			if sent > 120 {
				t.Errorf("%v: %d requests", mu, sent)
			}
			time.Sleep(time.Second)
			hasItems(t, m.table, 1)
		}
	})
}

// mutationsInUse returns some mutations of a kind's record: of each attribute a value of another type, a fraction, and none.
func mutationsInUse(t *testing.T, name string) (some []mutation) {
	locktest.InBubble(t, name+"/Attributes", func(t *testing.T) {
		m := newMutants(t, kinds[name].cfg)
		lock := kinds[name].use(m)
		id, _ := m.serving(lock)
		for _, mu := range mutationsOf(t, recordOf(t, m.table), recordFields) {
			other := "a string"
			if mu.field.need == other {
				other = "a number"
			}
			inEntry := len(mu.path) > 1 && mu.path[0] == "holders"
			switch {
			case mu.is != other && mu.value != nil && !mu.fractional(),
				mu.field.effect > ofEntry && name != "Exclusive",
				inEntry && mu.path[1] != id:
				continue
			case inEntry && mu.path[len(mu.path)-1] == "ticket" && mu.value == nil:
				continue // it is well formed, and of another turn
			}
			if inEntry {
				mu.path = append([]string{"holders", "own"}, mu.path[2:]...)
			}
			some = append(some, mu)
		}
	})
	return some
}

// serving returns the id of a lock, and the number of holders.
func (m *mutants) serving(lock *queuelock.Lock) (id string, holders int) {
	m.t.Helper()
	c, _ := m.open()
	state := locktest.Must(c.Viewer().Inspect(m.t.Context(), locktest.Order))
	for _, h := range state.Serving {
		if h.Ticket == lock.Ticket() {
			id = h.ID
		}
	}
	return id, len(state.Serving)
}

// TestReleaseOfBadEntry checks that a holder removes its own entry also if its ticket cannot be read, whatever becomes of
// the request: no other client may, and no lease ends the entry. That of a lost lock stays for its lock delay, and no longer.
func TestReleaseOfBadEntry(t *testing.T) {
	cleanUp := func(f queuelocktest.Fault) func(int) queuelocktest.Fault {
		return func(before int) queuelocktest.Fault { return f.Of("UpdateItem").Nth(before + 1) }
	}
	from := func(f queuelocktest.Fault) func(int) queuelocktest.Fault {
		return func(before int) queuelocktest.Fault { return f.Of("UpdateItem").After(before) }
	}
	const lockDelay = 10 * time.Second
	delay := []queuelock.AcquireOption{queuelock.LockDelay(lockDelay)}
	for how, fault := range map[string]func(before int) queuelocktest.Fault{
		"Answered":      func(int) queuelocktest.Fault { return queuelocktest.LoseResponse().Of("UpdateItem").Nth(9) },
		"AnswerLost":    cleanUp(queuelocktest.LoseResponse()),
		"RequestLost":   cleanUp(queuelocktest.LoseRequest()),
		"Throttled":     from(queuelocktest.Refuse(queuelocktest.Throttling).Times(1)), // the pauses of the SDK are long
		"NewCredential": from(queuelocktest.Refuse("UnrecognizedClientException").Times(5)),
		"Refused":       cleanUp(queuelocktest.HoldRequest()),
		"NoAnswers":     from(queuelocktest.LoseRequest()),
		"NoRights":      from(queuelocktest.Refuse(queuelocktest.AccessDenied)),
	} {
		for name, opts := range map[string][]queuelock.AcquireOption{
			"WithALease": nil, "Lost": nil, "FailClosed": {queuelock.FailClosed()}, "WithADelay": delay, "LostWithADelay": delay,
		} {
			lost, failClosed, before := strings.HasPrefix(name, "Lost"), name == "FailClosed", 1 // RELEASE
			if name == "LostWithADelay" {
				before = 0 // the record is read in its place
			}
			locktest.InBubble(t, how+"/"+name, func(t *testing.T) {
				m := newMutants(t, queuelock.Config{TTL: locktest.TTL})
				c, db := m.open()
				held := locktest.Acquire(t, c, waitpolicy.NoWait, opts...)
				id, _ := m.serving(held)
				m.change([]string{"holders", id, "ticket"}, av.Num(-3))
				if lost {
					<-held.Context().Done()
				}
				begun := time.Now()
				injected := db.Inject(fault(before))
				if how == "Refused" { // an operator comes first
					go func() {
						<-injected.Reached()
						m.change([]string{"holders", id}, nil)
						injected.Release()
					}()
				}
				err := held.Release(limited(t, time.Minute))
				if how == "NoAnswers" || how == "NoRights" {
					_, unreleased := errors.AsType[*queuelock.UnreleasedError](err)
					_, malformed := errors.AsType[*queue.MalformedError](err)
					if errors.Is(err, queuelock.ErrLost) != lost || unreleased != failClosed || malformed == unreleased {
						t.Errorf("%v, and the entry may be there", err)
					}
					injected.Remove()
					err = held.Release(t.Context())
				}
				if _, malformed := errors.AsType[*queue.MalformedError](err); !malformed || !errors.Is(err, queuelock.ErrLost) {
					t.Errorf("%v, want ErrLost with a MalformedError", err)
				}
				if took := time.Since(begun); name == "LostWithADelay" && (took < lockDelay || how == "Answered" && took > lockDelay+locktest.TTL) {
					t.Errorf("removed %v after the loss, want the lock delay of %v", took, lockDelay)
				}
				if (injected.Fired() > 0) != (how != "Answered") {
					t.Errorf("%d faults", injected.Fired())
				}
				locktest.Release(t, m.lock(waitpolicy.NoWait))
			})
		}
	}
}

// TestCloseRemovesBadEntry checks that Close removes an entry that cannot be read and that Release has not removed, whenever
// it is called.
func TestCloseRemovesBadEntry(t *testing.T) {
	for name, opts := range map[string][]queuelock.AcquireOption{
		"WithALease": nil, "Lost": nil, "WithADelay": {queuelock.LockDelay(time.Second)}, "AfterNoAnswers": nil,
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			m := newMutants(t, queuelock.Config{TTL: locktest.TTL})
			c, db := m.open()
			held := locktest.Acquire(t, c, waitpolicy.NoWait, opts...)
			id, _ := m.serving(held)
			release := func(injected queuelocktest.Fault, limit time.Duration) {
				t.Helper()
				noAnswers := db.Inject(injected.Of("UpdateItem"))
				defer noAnswers.Remove()
				if err := held.Release(limited(t, limit)); err == nil {
					t.Error("released without answers")
				}
			}
			if name == "AfterNoAnswers" { // after which Close would not try again
				release(queuelocktest.LoseRequest(), 0)
			}
			m.change([]string{"holders", id, "ticket"}, av.Num(-3))
			if name == "Lost" {
				<-held.Context().Done()
			}
			release(queuelocktest.LoseRequest().After(1), time.Minute)
			time.Sleep(time.Hour)
			locktest.Is(t, c.Close(t.Context()), queuelock.ErrLost)
			if _, holders := m.serving(held); holders != 0 {
				t.Errorf("%d holders are left", holders)
			}
		})
	}
}
