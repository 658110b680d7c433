package embedded

import "github.com/queuelock/queuelock/internal/embedded/value"

// The sizes that one unit pays for:
// docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
const (
	readUnit  = 4 * 1024
	writeUnit = 1024
)

// units is how many units of a size it takes to cover some bytes: at least one,
// for also looking at nothing costs.
func units(bytes, unit int) float64 { return float64(max(1, (bytes+unit-1)/unit)) }

// writeCost is the price of replacing one item by another, nil meaning none:
// the larger of the two counts. A write refused by its condition costs the same
// as if old had been replaced by itself.
func writeCost(before, after value.Item) float64 {
	return units(max(before.Size(), after.Size()), writeUnit)
}

// readCost is the price of reading some bytes in one go.
func readCost(bytes int, consistent bool) float64 {
	if consistent {
		return units(bytes, readUnit)
	}
	return units(bytes, readUnit) / 2
}

// consumed reports what a request cost on one table, in the form that
// ReturnConsumedCapacity asks for; nil for none.
func consumed(mode, tableName string, cost float64) map[string]any {
	switch mode {
	case "TOTAL":
		return map[string]any{"TableName": tableName, "CapacityUnits": cost}
	case "INDEXES":
		return map[string]any{"TableName": tableName, "CapacityUnits": cost, "Table": map[string]any{"CapacityUnits": cost}}
	}
	return nil
}

// consumedByTransaction reports also which kind of units they were, as
// transactions do.
func consumedByTransaction(mode, tableName, kind string, cost float64) map[string]any {
	c := consumed(mode, tableName, cost)
	if c != nil {
		c[kind] = cost
		if t, ok := c["Table"].(map[string]any); ok {
			t[kind] = cost
		}
	}
	return c
}

// tally adds up costs by table and remembers the order of first use.
type tally struct {
	tables []string
	cost   map[string]float64
}

func (t *tally) add(tableName string, cost float64) {
	if t.cost == nil {
		t.cost = map[string]float64{}
	}
	if _, ok := t.cost[tableName]; !ok {
		t.tables = append(t.tables, tableName)
	}
	t.cost[tableName] += cost
}

// addTo adds the costs to an answer, each as one reports it in that mode.
func (t *tally) addTo(answer map[string]any, mode string, one func(mode, tableName string, cost float64) map[string]any) {
	var all []map[string]any
	for _, name := range t.tables {
		if c := one(mode, name, t.cost[name]); c != nil {
			all = append(all, c)
		}
	}
	if all != nil {
		answer["ConsumedCapacity"] = all
	}
}

func checkCapacityMode(mode string) error {
	return oneOf(mode, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
}
