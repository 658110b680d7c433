package transition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/embedded/value"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// request is what a request asks for one item.
type request struct {
	text  string // of kind, expressions and values, as textOfRequest prints them
	names []string
	// The values of the expressions.
	numbers []ticket.Number
	strings []string
	maps    []clause.Item
	sets    []*types.AttributeValueMemberNS
}

// wire is a request, or a part of a transaction, as it is sent.
type wire struct {
	Key, Item                             value.Item
	ConditionExpression, UpdateExpression string
	ExpressionAttributeNames              map[string]string
	ExpressionAttributeValues             map[string]value.Value

	TransactItems []struct{ Update, Put, Delete, ConditionCheck *wire }
}

// parts are the request itself, and the parts of a transaction.
func (w *wire) parts() []*wire {
	all := []*wire{w}
	for _, part := range w.TransactItems {
		all = append(all, part.Update, part.Put, part.Delete, part.ConditionCheck)
	}
	return slices.DeleteFunc(all, func(part *wire) bool { return part == nil })
}

// requestOf returns what a request asks for the item with that key.
func requestOf(body []byte, key value.Item) *request {
	var sent wire
	if err := json.Unmarshal(body, &sent); err != nil {
		panic(fmt.Sprintf("transition: %v: %s", err, body)) // the engine has read it
	}
	is := func(a, b value.Item) bool { return a["pk"].Equal(b["pk"]) && a["sk"].Equal(b["sk"]) }
	for _, one := range sent.parts() {
		if is(one.Key, key) || is(one.Item, key) {
			return one.request()
		}
	}
	return &request{text: "of another item"}
}

func (w *wire) request() *request {
	values := clause.Item{}
	for placeholder, v := range w.ExpressionAttributeValues {
		values[placeholder] = valueOf(v)
	}
	r := &request{text: textOfExpressions(ItemOf(w.Item), w.ConditionExpression, w.UpdateExpression, w.ExpressionAttributeNames, values)}
	for _, placeholder := range ordered(w.ExpressionAttributeNames) {
		r.names = append(r.names, w.ExpressionAttributeNames[placeholder])
	}
	for _, placeholder := range ordered(values) {
		switch v := values[placeholder].(type) {
		case *types.AttributeValueMemberN:
			if n, err := ticket.FromAttribute(v); err == nil && !slices.Contains(r.numbers, n) {
				r.numbers = append(r.numbers, n)
			}
		case *types.AttributeValueMemberS:
			r.strings = append(r.strings, v.Value)
		case *types.AttributeValueMemberM:
			r.maps = append(r.maps, v.Value)
		case *types.AttributeValueMemberNS:
			r.sets = append(r.sets, v)
		}
	}
	return r
}

// ordered returns placeholders in the order in which the builder made them: #0, #1, … #10.
func ordered[T any](placeholders map[string]T) []string {
	return slices.SortedFunc(maps.Keys(placeholders), func(a, b string) int {
		return cmp.Or(len(a)-len(b), strings.Compare(a, b))
	})
}

// has reports whether an attribute of that name is in the expressions.
func (r *request) has(name string) bool { return slices.Contains(r.names, name) }

// ids are the names that are none of the library's attributes.
func (r *request) ids(q queue.Items) (ids []string) {
	for _, name := range r.names {
		if name != q.PK && name != q.TTL && !slices.Contains(attr.Reserved(), name) {
			ids = append(ids, name)
		}
	}
	return ids
}

// ints are the numbers that fit.
func (r *request) ints() (all []int64) {
	for _, n := range r.numbers {
		if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
			all = append(all, i)
		}
	}
	return all
}

// textOfRequest prints a write as it is to be sent.
func textOfRequest(w clause.Write, n clause.Names) string {
	sent, values, err := wireOf(w, n)
	if err != nil {
		return err.Error()
	}
	return textOfExpressions(w.Item, sent.ConditionExpression, sent.UpdateExpression, sent.ExpressionAttributeNames, values)
}

// wireOf returns the expressions of a write as they are to be sent, without its item and values, and the values.
func wireOf(w clause.Write, n clause.Names) (sent wire, values clause.Item, err error) {
	e, err := w.Builder(n).Build()
	sent.ConditionExpression, sent.UpdateExpression = aws.ToString(e.Condition()), aws.ToString(e.Update())
	sent.ExpressionAttributeNames = e.Names()
	return sent, e.Values(), err
}

var placeholder = regexp.MustCompile(`[#:]\w+`)

func textOfExpressions(item clause.Item, condition, update string, names map[string]string, values clause.Item) string {
	fill := func(expression string) string {
		return placeholder.ReplaceAllStringFunc(expression, func(p string) string {
			if name, ok := names[p]; ok {
				return name
			}
			return av.Print(values[p])
		})
	}
	put := ""
	if item != nil {
		put = "PUT " + textOf(item) + " "
	}
	return put + strings.ReplaceAll(fill(update), "\n", " ") + "IF " + fill(condition)
}
