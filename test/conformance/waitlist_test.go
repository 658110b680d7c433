package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/engines"
)

// A probe of a format that no version has: the record lists its waiters. docs/costs.md has its figures and the verdict.
//
// In the form "first", queue is a list of ids, of which the first holds the lock. The maps leases and tickets have a
// value for each id. So a heartbeat needs no place in the list, and each end of a turn or a wait is one write.
const (
	listTake = "SET queue = list_append(queue, :ids), leases.#me = :lease, " +
		"tickets.#me = ticketNumber + :one, ticketNumber = ticketNumber + :one"
	listTakeIf = "size(queue) < :most AND NOT contains(queue, :me)" // so a second copy is refused

	listEnd   = "REMOVE queue[%d], leases.#me, tickets.#me" // RELEASE at place 0, where the next is granted; else LEAVE
	listEndIf = "queue[%d] = :me"

	listExpiredIf = listEndIf + " AND leases.#me.beat = :beat" // EVICT and SWEEP: the same update

	listBeat   = "SET leases.#me.beat = leases.#me.beat + :one, leases.#me.#until = :until"
	listBeatIf = "attribute_exists(leases.#me)"
)

// In the form "apart", holder is an entry and queue a list of entries. A release moves the first of them into holder.
const (
	apartTake    = "SET holder = :entry, ticketNumber = ticketNumber + :one"
	apartTakeIf  = "attribute_not_exists(holder)"
	apartQueue   = "SET queue = list_append(queue, :entries), ticketNumber = ticketNumber + :one"
	apartQueueIf = "attribute_exists(holder) AND size(queue) < :most"

	apartGrant   = "SET holder = queue[0] REMOVE queue[0]"
	apartGrantIf = "holder.id = :me AND attribute_exists(queue[0])"
	apartFree    = "REMOVE holder"
	apartFreeIf  = "holder.id = :me AND attribute_not_exists(queue[0])"

	apartLeave   = "REMOVE queue[%d]"
	apartBeat    = "SET queue[%[1]d].beat = queue[%[1]d].beat + :one"
	apartPlaceIf = "queue[%d].id = :me"
)

// listed is how many ids a list has at most: a holder, and the waiters that a record of a KB has room for.
const listed = 4

// member returns the id of a client, as long as the library's.
func member(i int) string { return fmt.Sprintf("533ir5365pnuogrtwmgrilhtvb-n%d", i) }

func members(clients ...int) (ids []string) {
	for _, i := range clients {
		ids = append(ids, member(i))
	}
	return ids
}

const anInstant = 1_795_000_000_000 // a time in ms, and longer than a ticket

// lease is as long as the library's, with the time of the grant and the name of an owner.
func lease() item {
	return item{"beat": n(0), "ttl": n(15_000), "until": n(anInstant), "since": n(anInstant), "owner": str("ip-10-0-0-1.ec2.internal")}
}

// listRecord is an idle record, with marks as long as the library's.
func listRecord() item {
	mark := object(item{"id": str(member(0)), "ticket": n(anInstant), "call": n(1)})
	return item{
		"queue": list(), "leases": object(item{}), "tickets": object(item{}), "ticketNumber": n(anInstant), "granted": n(anInstant),
		"released": mark, "evicted": mark, "holdMode": str("exclusive"), "turn": object(item{"mean": n(35), "deviation": n(6)}),
	}
}

// step is an update of the record by a client.
func step(client int, update, condition string, values item) op {
	o := op{update: update, condition: condition, values: item{}, names: map[string]string{}, failedItem: true}
	for name, v := range values {
		o.values[name] = v
	}
	text := update + condition
	if strings.Contains(text, ":me") {
		o.values[":me"] = str(member(client))
	}
	if strings.Contains(text, ":one") {
		o.values[":one"] = n(1)
	}
	if strings.Contains(text, "#me") {
		o.names["#me"] = member(client)
	}
	if strings.Contains(text, "#until") {
		o.names["#until"] = "until"
	}
	return o
}

// at puts a place into an expression.
func at(expression string, place int) string { return fmt.Sprintf(expression, place) }

func takePlace(client, most int) op {
	return step(client, listTake, listTakeIf, item{":ids": list(str(member(client))), ":lease": object(lease()), ":most": n(most)})
}

func endPlace(client, place int) op {
	return step(client, at(listEnd, place), at(listEndIf, place), nil)
}

func expirePlace(client, place, beat int) op {
	return step(client, at(listEnd, place), at(listExpiredIf, place), item{":beat": n(beat)})
}

func beatOf(client int) op {
	return step(client, listBeat, listBeatIf, item{":until": n(anInstant + 5_000)})
}

func takeApart(client int) op {
	return step(client, apartTake, apartTakeIf, item{":entry": object(apartEntry(client))})
}

func queueApart(client int) op {
	return step(client, apartQueue, apartQueueIf, item{":entries": list(object(apartEntry(client))), ":most": n(listed - 1)})
}

func apartEntry(client int) item {
	e := lease()
	e["id"] = str(member(client))
	return e
}

// spend sends an update of the record. It returns the record that follows, and the units.
func (c *check) spend(o op) (item, float64, error) {
	out, err := c.db.UpdateItem(c.ctx, &dynamodb.UpdateItemInput{
		TableName: &c.table, Key: c.key(recordKey), UpdateExpression: &o.update, ConditionExpression: optional(o.condition),
		ExpressionAttributeNames: orNil(o.names), ExpressionAttributeValues: orNil(o.values),
		ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: o.failed(),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return nil, 0, err
	}
	if out.ConsumedCapacity == nil {
		return nil, 0, errors.New("no capacity was reported")
	}
	return out.Attributes, aws.ToFloat64(out.ConsumedCapacity.CapacityUnits), nil
}

// orNil returns nil for an empty map, which no engine accepts.
func orNil[M ~map[string]V, V any](m M) M {
	if len(m) == 0 {
		return nil
	}
	return m
}

// spent is what an update cost. The check ends if it is refused.
func (c *check) spent(o op) (item, float64) {
	after, units, err := c.spend(o)
	c.must(err)
	return after, units
}

// places returns the ids in the list of a record.
func places(record item) (ids []string) {
	l, _ := record["queue"].(*types.AttributeValueMemberL)
	if l == nil {
		return nil
	}
	for _, v := range l.Value {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			ids = append(ids, v.Value)
		case *types.AttributeValueMemberM:
			ids = append(ids, v.Value["id"].(*types.AttributeValueMemberS).Value)
		}
	}
	return ids
}

// refused wants an update to be refused, with the list as it is.
func (c *check) refused(what string, o op, list ...int) {
	_, _, err := c.spend(o)
	c.same(what+": the list that the refusal shows", places(c.refusedByCondition(err)), members(list...))
}

// queued takes a place for each of the clients.
func (c *check) queued(clients ...int) {
	c.given(recordKey, listRecord())
	for _, i := range clients {
		c.spent(takePlace(i, 100))
	}
}

// prices are the units that writes on one engine took, by the name of their row in docs/costs.md.
type prices map[string][]float64

func (p prices) add(row string, units float64) {
	if !slices.Contains(p[row], units) {
		p[row] = append(p[row], units)
	}
}

// The rows of the table in docs/costs.md.
const (
	rowFew   = "each write, up to 3 waiters"
	rowMany  = "each write, 4 to 6 waiters"
	rowTurn  = "a queued turn"
	rowApart = "the same, with the holder outside the list"
)

// refusedUnits is what a refused write of up to 1 KB costs. No engine reports it.
const refusedUnits = 1

// onPage wants the page to have the units in the column of the engine. Checks that did not run have none.
func (p prices) onPage(c *check) {
	page, err := os.ReadFile("../../docs/costs.md")
	c.must(err)
	lines := strings.Split(string(page), "\n")
	of := func(title string) []string {
		i := slices.IndexFunc(lines, func(line string) bool { return cells(line)[0] == title })
		if i < 0 {
			c.Fatalf("docs/costs.md has no row %q", title)
		}
		return cells(lines[i])
	}
	column := slices.Index(of("write units"), c.e.Name)
	if column < 0 {
		if c.e.Name != engines.Endpoint {
			c.Errorf("docs/costs.md has no column of %s", c.e.Name)
		}
		return
	}
	for row, units := range p {
		c.same(row, of(row)[column], strings.Trim(fmt.Sprint(units), "[]"))
	}
}

// cells returns the cells of a line of a table.
func cells(line string) (all []string) {
	for cell := range strings.SplitSeq(strings.Trim(line, "| "), "|") {
		all = append(all, strings.TrimSpace(cell))
	}
	return all
}

func TestWaitList(t *testing.T) {
	const badOperand = "The provided expression refers to an attribute that does not exist in the item"
	onEveryEngine(t, func(s *suite) {
		cost := prices{}

		s.check("AQueuedTurnIsTwoWrites", func(c *check) {
			c.given(recordKey, listRecord())
			var turns [listed]float64
			for i := range listed {
				after, units := c.spent(takePlace(i, listed))
				cost.add(rowFew, units)
				turns[i] = units
				c.same("ticket", after["ticketNumber"], n(anInstant+1+i))
				c.same("place", places(after)[i], member(i))
			}
			for i := range listed {
				after, units := c.spent(endPlace(i, 0))
				cost.add(rowFew, units)
				cost.add(rowTurn, turns[i]+units)
				c.same("left", len(places(after)), listed-1-i)
			}
			want := listRecord()
			want["ticketNumber"] = n(anInstant + listed)
			c.holds(recordKey, want)
		})

		s.check("PlacesOfTakesAtOnceFollowTheirTickets", func(c *check) {
			for range 5 {
				c.given(recordKey, listRecord())
				type grant struct {
					ticket, id string
					place      int
				}
				grants := make(chan grant, listed)
				for i := range listed {
					go func() {
						after, _, err := c.spend(takePlace(i, listed))
						if err != nil {
							grants <- grant{id: err.Error()}
							return
						}
						ticket := after["tickets"].(*types.AttributeValueMemberM).Value[member(i)].(*types.AttributeValueMemberN).Value
						grants <- grant{ticket, member(i), slices.Index(places(after), member(i))}
					}()
				}
				var all []grant
				for range listed {
					all = append(all, <-grants)
				}
				slices.SortFunc(all, func(a, b grant) int { return cmp.Compare(a.ticket, b.ticket) })
				var ids []string
				for place, g := range all {
					c.same("ticket", g.ticket, strconv.Itoa(anInstant+1+place))
					c.same("place of "+g.id, g.place, place)
					ids = append(ids, g.id)
				}
				c.same("the list", places(c.stored(recordKey)), ids)
			}
		})

		s.check("AFullListAndASecondCopyAreRefused", func(c *check) {
			c.queued(1, 2, 3)
			c.refused("a second copy", takePlace(2, listed), 1, 2, 3)
			c.spent(takePlace(4, listed))
			c.refused("a full list", takePlace(5, listed), 1, 2, 3, 4)
		})

		s.check("AWaiterLeavesByItsPlaceAndByThatAlone", func(c *check) {
			c.queued(1, 2, 3, 4)
			after, units := c.spent(endPlace(3, 2))
			cost.add(rowFew, units)
			c.same("the list", places(after), members(1, 2, 4))
			c.refused("a place that has moved", endPlace(4, 3), 1, 2, 4)
			c.refused("the place of another", endPlace(4, 1), 1, 2, 4)
			c.spent(endPlace(4, 2))
			c.refused("a place that is gone", endPlace(4, 2), 1, 2)
		})

		s.check("AHeartbeatNeedsNoPlace", func(c *check) {
			c.queued(1, 2, 3, 4)
			c.spent(endPlace(1, 0))
			after, units := c.spent(beatOf(4))
			cost.add(rowFew, units)
			got := after["leases"].(*types.AttributeValueMemberM).Value[member(4)].(*types.AttributeValueMemberM).Value
			c.same("beat", got["beat"], n(1))
			c.same("until", got["until"], n(anInstant+5_000))
			c.refused("of one that has left", beatOf(1), 2, 3, 4)
		})

		s.check("OnlyTheFirstEndsTheTurn", func(c *check) {
			c.queued(1, 2)
			c.refused("by the next", endPlace(2, 0), 1, 2)
			c.spent(endPlace(1, 0))
			c.refused("a second copy", endPlace(1, 0), 2)
			c.spent(endPlace(2, 0))
			c.refused("an empty list", endPlace(2, 0))
			c.given(recordKey, item{})
			c.refused("no list", endPlace(2, 0))
		})

		s.check("ABeatSavesFromRemoval", func(c *check) {
			c.queued(1, 2, 3)
			c.spent(beatOf(1))
			c.refused("a holder with a new beat", expirePlace(1, 0, 0), 1, 2, 3)
			after, units := c.spent(expirePlace(2, 1, 0))
			cost.add(rowFew, units)
			c.same("the list", places(after), members(1, 3))
			after, units = c.spent(expirePlace(1, 0, 1))
			cost.add(rowFew, units)
			c.same("the list", places(after), members(3))
		})

		s.check("TheRecordGrowsWithItsWaiters", func(c *check) {
			for waiters := range 7 {
				row := rowFew
				if waiters > 3 {
					row = rowMany
				}
				c.queued(0)
				var units float64
				for i := range waiters {
					_, units = c.spent(takePlace(i+1, 100))
					if i+1 == waiters {
						cost.add(row, units)
					}
				}
				_, units = c.spent(beatOf(0))
				cost.add(row, units)
				_, units = c.spent(endPlace(0, 0))
				cost.add(row, units)
			}
		})

		s.check("AHolderApartIsReplacedByTheFirstOfTheList", func(c *check) {
			idle := listRecord()
			delete(idle, "leases")
			delete(idle, "tickets")
			c.given(recordKey, idle)
			c.spent(takeApart(1))
			c.refused("a lock that is held", takeApart(2))
			var placed float64
			for i := 2; i <= listed; i++ {
				_, placed = c.spent(queueApart(i))
			}
			c.refused("a full list", queueApart(5), 2, 3, 4)

			beat := func(client, place int) op { return step(client, at(apartBeat, place), at(apartPlaceIf, place), nil) }
			after, units := c.spent(beat(3, 1))
			cost.add(rowFew, units)
			moved := after["queue"].(*types.AttributeValueMemberL).Value[1].(*types.AttributeValueMemberM).Value
			c.same("beat", moved["beat"], n(1))

			grant := func(client int) op { return step(client, apartGrant, apartGrantIf, nil) }
			free := func(client int) op { return step(client, apartFree, apartFreeIf, nil) }
			c.refused("the end of a turn with waiters", free(1), 2, 3, 4)
			c.refused("a grant by another", grant(2), 2, 3, 4)
			after, units = c.spent(grant(1))
			cost.add(rowApart, refusedUnits+placed+units)
			c.same("holder", after["holder"], object(apartEntry(2)))
			c.same("the list", places(after), members(3, 4))

			c.refused("a beat at a place that has moved", beat(3, 1), 3, 4)
			after, units = c.spent(step(4, at(apartLeave, 1), at(apartPlaceIf, 1), nil))
			cost.add(rowFew, units)
			c.same("the list", places(after), members(3))
			after, _ = c.spent(grant(2))
			c.same("holder", after["holder"], object(moved))
			c.refused("a grant to no waiter", grant(3))

			_, _, err := c.spend(step(3, apartGrant, "holder.id = :me", nil))
			c.invalid(err, badOperand)
			_, units = c.spent(free(3))
			cost.add(rowFew, units)
			delete(idle, "ticketNumber")
			left := c.stored(recordKey)
			delete(left, "ticketNumber")
			c.same("the end", left, idle)
		})

		// So a release cannot also take a new place, nor change the entry that it moves.
		s.check("AListAndItsElementAreNotWrittenAtOnce", func(c *check) {
			c.queued(1, 2)
			for _, update := range []string{
				"SET queue = list_append(queue, :ids) REMOVE queue[0]",
				"SET holder = queue[0], holder.beat = :zero REMOVE queue[0]",
			} {
				values := item{":zero": n(0)}
				if strings.Contains(update, ":ids") {
					values = item{":ids": list(str(member(3)))}
				}
				_, _, err := c.spend(step(1, update, "", values))
				c.invalid(err, "Two document paths overlap with each other")
			}
		})

		s.check("ThePageHasTheseUnits", func(c *check) { cost.onPage(c) })
	})
}
