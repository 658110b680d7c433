package value

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func parse(t *testing.T, wire string) Value {
	t.Helper()
	var v Value
	if err := json.Unmarshal([]byte(wire), &v); err != nil {
		t.Fatalf("%s: %v", wire, err)
	}
	return v
}

func TestRefusedValues(t *testing.T) {
	parse(t, strings.Repeat(`{"L":[`, 31)+strings.Repeat(`]}`, 31))
	deep := strings.Repeat(`{"L":[`, 32) + strings.Repeat(`]}`, 32)
	for wire, want := range map[string]string{
		`{}`: "Supplied AttributeValue is empty", `{"X":"1"}`: "Supplied AttributeValue is empty",
		`{"S":"a","N":"1"}`: "more than one datatypes", `{"S":null}`: "Supplied AttributeValue is empty",
		`{"NULL":false}`: "must have the value of true", `{"N":"one"}`: "cannot be converted",
		`{"SS":[]}`: "An string set  may not be empty", `{"NS":[]}`: "An number set  may not be empty",
		`{"SS":["a","b","a"]}`: "Input collection [a, b, a] contains duplicates", `{"NS":["1","1.0"]}`: "duplicates",
		`{"BS":["AA==","AA=="]}`: "Input collection [AA==, AA==]of type BS contains duplicates.", `{"BS":[]}`: "Binary sets should not be empty", deep: "Nesting Levels have exceeded",
	} {
		var v Value
		err := json.Unmarshal([]byte(wire), &v)
		var invalid Invalid
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v; want %q", wire, err, want)
		}
	}
	for _, wire := range []string{`{"S":1}`, `{"N":1}`, `[]`, `{"M":[]}`, `{"L":{}}`, `{"SS":"a"}`, `{"BOOL":"true"}`, `{"B":"?"}`, `{"L":[1]}`} {
		var v Value
		var malformed Malformed
		if err := json.Unmarshal([]byte(wire), &v); !errors.As(err, &malformed) {
			t.Errorf("%s: %v; want Malformed", wire, err)
		}
	}
}

// TestSizes checks that the sizes of values follow the documented rules: CapacityUnitCalculations.html in the developer guide.
func TestSizes(t *testing.T) {
	for wire, want := range map[string]int{
		`{"S":""}`: 0, `{"S":"abc"}`: 3, `{"S":"é"}`: 2, `{"B":"AAAA"}`: 3, `{"BOOL":true}`: 1, `{"NULL":true}`: 1,
		`{"N":"0"}`: 1, `{"N":"7"}`: 2, `{"N":"12"}`: 2, `{"N":"123"}`: 3, `{"N":"1000"}`: 2, `{"N":"-12"}`: 3,
		`{"M":{}}`: 3, `{"L":[]}`: 3, `{"L":[{"S":"ab"},{"BOOL":true}]}`: 3 + (1 + 2) + (1 + 1),
		`{"M":{"key":{"S":"ab"}}}`: 3 + (1 + 3 + 2), `{"SS":["ab","c"]}`: 3, `{"NS":["1","22"]}`: 4,
	} {
		if got := parse(t, wire).Size(); got != want {
			t.Errorf("%s has %d bytes, want %d", wire, got, want)
		}
	}
	if got := (Item{"name": OfString("text"), "n": OfNumber(Count(5))}).Size(); got != 4+4+1+2 {
		t.Errorf("the item has %d bytes", got)
	}
}
