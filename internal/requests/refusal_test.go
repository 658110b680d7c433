package requests_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

// TestRefusals checks what it means that a record refuses a write. The record of each case is what is left of one with
// the holder a, ticket 1, until 2000, beat 1.
func TestRefusals(t *testing.T) {
	names := clause.Names{Key: "pk"}
	entry := clause.Item{"owner": clause.String("o"), "beat": clause.Int(1), "ticket": clause.Int(1), "until": clause.Int(2000), "ttl": clause.Int(60_000)}
	with := func(item clause.Item, name string, v types.AttributeValue) clause.Item {
		if v == nil {
			return av.Without(item, name)
		}
		return av.With(item, clause.Item{name: v})
	}
	record := func(holders clause.Item) clause.Item {
		return clause.Item{
			"pk": clause.String("e"), "ticketNumber": clause.Int(5), "granted": clause.Int(1), "servingAfter": clause.Int(0),
			"holders": clause.Map(holders), "holdMode": clause.String("exclusive"),
		}
	}
	of := func(name string, v types.AttributeValue) clause.Item {
		return record(clause.Item{"a": clause.Map(with(entry, name, v))})
	}
	held := of("beat", clause.Int(1))
	gone := record(clause.Item{})
	later := with(record(clause.Item{"b": clause.Map(with(entry, "ticket", clause.Int(2)))}), "granted", clause.Int(2))
	orphan := with(of("ticket", clause.Int(3)), "granted", clause.Int(3)) // a late copy of a TAKE put the id back
	confirmed := record(clause.Item{"a": clause.Map(with(with(with(entry, "ttl", nil), "until", nil), "failClosed", &types.AttributeValueMemberBOOL{Value: true}))})
	downgraded := with(of("mode", clause.String("shared")), "holdMode", clause.String("shared"))
	joined := with(record(clause.Item{"a": clause.Map(with(entry, "mode", clause.String("shared"))), "b": clause.Map(with(entry, "ticket", clause.Int(2)))}), "holdMode", clause.String("shared"))

	early, late := queue.Renewal{Until: time.UnixMilli(1999)}, queue.Renewal{Until: time.UnixMilli(2001)}
	enter := func(i int, noWait bool) clause.Write {
		return queue.Enter(entryOf("a"), n(i), ticket.ScopeTable, noWait)
	}
	scoped := with(held, "scope", clause.String("shared"))
	for name, c := range map[string]struct {
		write clause.Write
		item  clause.Item
		want  clause.Refusal
	}{
		"HEARTBEAT/a later one came first":     {early.Heartbeat("a", n(1)), held, clause.Made},
		"HEARTBEAT/evicted":                    {late.Heartbeat("a", n(1)), gone, clause.Lost},
		"HEARTBEAT/a later grant":              {late.Heartbeat("a", n(1)), later, clause.Lost},
		"HEARTBEAT/orphaned":                   {early.Heartbeat("a", n(1)), orphan, clause.Lost},
		"HEARTBEAT/no record":                  {late.Heartbeat("a", n(1)), nil, clause.Lost},
		"HEARTBEAT/it would be applied":        {late.Heartbeat("a", n(1)), held, clause.Contradicted},
		"CONFIRM/by an earlier attempt":        {queue.Confirm("a", n(1), time.Time{}), confirmed, clause.Made},
		"CONFIRM/it has an end":                {queue.Confirm("a", n(1), time.Time{}), with(of("ttl", nil), "granted", clause.Int(1)), clause.Lost},
		"CONFIRM/it has a lease":               {queue.Confirm("a", n(1), time.Time{}), held, clause.Lost},
		"CONFIRM/evicted":                      {queue.Confirm("a", n(1), time.Time{}), gone, clause.Lost},
		"CONFIRM/orphaned":                     {queue.Confirm("a", n(1), time.Time{}), orphan, clause.Lost},
		"CONFIRM/it would be applied":          {queue.Confirm("a", n(1), time.Time{}), of("beat", clause.Int(0)), clause.Contradicted},
		"DOWNGRADE/by an earlier attempt":      {queue.Downgrade("a", n(1), 2), joined, clause.Made},
		"DOWNGRADE/after a later transaction":  {queue.Downgrade("a", n(1), 2), of("made", clause.Int(2)), clause.Lost},
		"DOWNGRADE/evicted":                    {queue.Downgrade("a", n(1), 2), gone, clause.Lost},
		"DOWNGRADE/it would be applied":        {queue.Downgrade("a", n(1), 2), downgraded, clause.Contradicted},
		"SETDATA/a later call came first":      {queue.SetData("a", n(1), 2, nil), of("dataSet", clause.Int(3)), clause.Made},
		"SETDATA/evicted":                      {queue.SetData("a", n(1), 2, nil), gone, clause.Lost},
		"SETDATA/it would be applied":          {queue.SetData("a", n(1), 2, nil), of("dataSet", clause.Int(2)), clause.Contradicted},
		"ENTER/it has entered":                 {enter(5, false), scoped, clause.Made},
		"ENTER/a later ticket has entered":     {enter(4, true), scoped, clause.Made},
		"ENTER/no room":                        {enter(6, true), scoped, clause.Open},
		"ENTER/no record":                      {enter(6, false), nil, clause.Contradicted},
		"TAKE/no room":                         {takeAfter(entryOf("a"), n(3), true), held, clause.Open},
		"TAKE/it would be applied":             {takeAfter(entryOf("a"), n(3), false), held, clause.Contradicted},
		"CLAIM/held":                           {queue.Claim(entryOf("b"), n(2)), held, clause.Open},
		"CLAIM/granted":                        {queue.Claim(entryOf("b"), n(2)), with(gone, "granted", clause.Int(2)), clause.Open},
		"CLAIM/it would be applied":            {queue.Claim(entryOf("b"), n(2)), gone, clause.Contradicted},
		"SETTLE/the transaction was made":      {queue.Settle("a", n(1), 2), of("made", clause.Int(2)), clause.Open},
		"RELEASE/released":                     {endingOf("a", 1).Release(queue.FormHandOff, time.Time{}), gone, clause.Open},
		"RELEASE/it would be applied":          {endingOf("a", 1).Release(queue.FormHandOff, time.Time{}), held, clause.Contradicted},
		"RESET/not idle":                       {queue.Reset(n(1), time.Time{}), held, clause.Open},
		"CLEAN UP/none is there":               {queue.Remove("a"), gone, clause.Open},
		"EVICT of a fail-closed holder/leased": {queue.EvictFailClosed(queue.Eviction{}, queue.Holder{ID: "a", Ticket: n(1)}), held, clause.Open},
		"EVICT/renewed":                        {queue.Evict(queue.Eviction{}, queue.Holder{ID: "a", Ticket: n(1)}), held, clause.Open},
	} {
		if got := c.write.Refused(names, c.item); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// refusing is a client whose table refuses each update, and shows the item.
type refusing struct{ *queuelocktest.Client }

func (c refusing) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...table.Option) (*dynamodb.UpdateItemOutput, error) {
	out, err := c.GetItem(ctx, &dynamodb.GetItemInput{TableName: in.TableName, Key: in.Key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, err
	}
	return nil, &types.ConditionalCheckFailedException{Item: out.Item}
}

// TestContradiction checks that a refusal by a record that meets all conditions is a transient error, which proves that
// nothing was applied, and no reason to decide again.
func TestContradiction(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	q := queueOf(tb, "e")
	take(t, q, "a")
	q.Store = table.NewStore(refusing{tb.Client("c")}, q.Layout(), time.Second)
	late := queue.Renewal{Until: time.UnixMilli(9)}
	for name, w := range map[string]clause.Write{
		"HEARTBEAT": late.Heartbeat("a", n(1)), "EVICT": queue.Evict(queue.Eviction{}, queue.Holder{ID: "a", Ticket: n(1)}),
		"RELEASE": endingOf("a", 1).Release(queue.FormFast, time.Time{}),
	} {
		send := requests.Send
		if name == "RELEASE" {
			send = requests.SendBlind
		}
		_, _, err := send(t.Context(), q, w)
		if err == nil || errors.Is(err, requests.ErrRefused) || errors.Is(err, requests.ErrMade) || !table.Transient(err) || table.Applied(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
