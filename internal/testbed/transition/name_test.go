package transition_test

import (
	"encoding/json"
	"testing"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/testbed/conditions"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/internal/testbed/transition"
	"github.com/queuelock/queuelock/queue"
)

// bodyOf returns the request of a write to the record.
func bodyOf(t *testing.T, w clause.Write) []byte {
	t.Helper()
	e := locktest.Must(w.Builder(names).Build())
	body, err := json.Marshal(map[string]any{
		"Key":              map[string]any{"pk": map[string]string{"S": "e"}, "sk": map[string]string{"S": q.RecordSortKey()}},
		"UpdateExpression": e.Update(), "ConditionExpression": e.Condition(), "ExpressionAttributeNames": e.Names(),
	})
	locktest.OK(t, err)
	return body
}

func TestNames(t *testing.T) {
	all := transition.NewNames(conditions.Shapes())
	claim := queue.Claim(entry("c7-1"), n(5))
	for _, c := range []struct {
		name, id string
		write    clause.Write
	}{
		{"CLAIM", "c7-1", claim},
		{"HEARTBEAT", "a-1", queue.Renewal{Until: until}.Heartbeat("a-1", n(1))},
		{"RESET", "", queue.Reset(n(1), until)},
		{"CLAIM", "c7-1", doing(clause.At("more").Set(clause.V(clause.Int(1))))(claim)},
	} {
		got := all.Of(bodyOf(t, c.write))
		if len(got) != 1 || got[0].Write.Name != c.name || c.id != "" && (len(got[0].IDs) == 0 || got[0].IDs[0] != c.id) {
			t.Errorf("%s is taken for %+v", c.name, got)
		}
	}
}
