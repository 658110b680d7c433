package audit

// What the audit knows for the policies of waiters. It judges none: a policy is a rule of the waiter.

// crowd is how many living waiters, those of a block each, were above the floor after a request.
type crowd struct{ request, waiters int }

// watch notes how many wait in a queue, and the groups of its rows and entries.
func (a *Audit) watch(q *queue) {
	n := 0
	for number, r := range q.rows {
		if whole(number).Cmp(q.floor) > 0 {
			n += int(max(r.turns, 1))
		}
	}
	if last := len(q.crowds) - 1; last < 0 || q.crowds[last].waiters != n {
		q.crowds = append(q.crowds, crowd{a.requests, n})
	}
	note := func(number, group string) {
		if q.groups == nil {
			q.groups = map[string]string{}
		}
		q.groups[number] = group
	}
	for number, r := range q.rows {
		note(number, r.group)
	}
	for _, h := range q.holders {
		note(h.ticket, h.group)
	}
}

// Requests counts the requests that have changed something.
func (a *Audit) Requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

// Most returns how many waiters a queue, "entity reason", has had at most since that many requests.
func (a *Audit) Most(queue string, since int) (most int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.of(queue)
	for i := len(q.crowds) - 1; i >= 0; i-- {
		most = max(most, q.crowds[i].waiters)
		if q.crowds[i].request <= since {
			break
		}
	}
	return most
}

// Group returns the group of the row or the entry that a ticket of a queue had; false if there was none.
func (a *Audit) Group(queue, ticket string) (group string, seen bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	group, seen = a.of(queue).groups[ticket]
	return group, seen
}
