package requests_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/requests"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestBellOfRow checks that a bell is kept as it is, and that a malformed one is ignored and its row is not.
func TestBellOfRow(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	q := queueFor(tb, "e", "lock")
	row := rowOf(7, "a")
	if _, there := row.Item(q.Items)[attr.Bell]; there {
		t.Error("a row without a bell has the attribute")
	}
	row.Bell = strings.Repeat("x", queue.MaxBell)
	for name, test := range map[string]struct {
		value types.AttributeValue
		want  string
	}{
		"AsWritten": {clause.String(row.Bell), row.Bell},
		"TooLong":   {clause.String(row.Bell + "x"), ""},
		"Empty":     {clause.String(""), ""},
		"Number":    {num("1"), ""},
		"Null":      {&types.AttributeValueMemberNULL{Value: true}, ""},
		"Map":       {&types.AttributeValueMemberM{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			item := row.Item(q.Items)
			item[attr.Bell] = test.value
			put(t, tb, item)
			got := locktest.Must(requests.GetRow(t.Context(), q, row.Ticket))
			if got == nil || got.Bell != test.want || got.Problem != nil || got.ID != row.ID || got.Lease != row.Lease {
				t.Errorf("got %+v", got)
			}
		})
	}
	if none := locktest.Must(requests.GetRow(t.Context(), q, n(8))); none != nil {
		t.Errorf("got %+v, which was not put", none)
	}
}
