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

// TestRoundTrip checks that a value of every type survives encoding and decoding.
func TestRoundTrip(t *testing.T) {
	for _, wire := range []string{
		`{"S":""}`, `{"S":"ž 漢 \" \\ \n <&>"}`, `{"N":"-1.5"}`, `{"B":"AP8="}`, `{"BOOL":true}`, `{"BOOL":false}`, `{"NULL":true}`,
		`{"M":{}}`, `{"M":{"a":{"L":[]},"b":{"M":{"c":{"N":"1"}}}}}`, `{"L":[{"S":"x"},{"NULL":true}]}`,
		`{"SS":["b","a"]}`, `{"NS":["2","1"]}`, `{"BS":["AA==","AQ=="]}`,
	} {
		v := parse(t, wire)
		got, err := json.Marshal(v)
		var again Value
		if err != nil || json.Unmarshal(got, &again) != nil || !again.Equal(v) {
			t.Errorf("%s became %s, %v", wire, got, err)
		}
	}
}

// TestRefusedValues checks that values that DynamoDB refuses are refused.
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

// TestEquality checks that equality ignores the order of sets and nothing else.
func TestEquality(t *testing.T) {
	for _, pair := range [][2]string{
		{`{"SS":["a","b"]}`, `{"SS":["b","a"]}`}, {`{"N":"1.0"}`, `{"N":"1"}`},
		{`{"M":{"a":{"N":"1"},"b":{"N":"2"}}}`, `{"M":{"b":{"N":"2"},"a":{"N":"1"}}}`},
	} {
		if !parse(t, pair[0]).Equal(parse(t, pair[1])) {
			t.Errorf("%s differs from %s", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{
		{`{"L":[{"N":"1"},{"N":"2"}]}`, `{"L":[{"N":"2"},{"N":"1"}]}`}, {`{"S":"1"}`, `{"N":"1"}`}, {`{"S":"a"}`, `{"B":"YQ=="}`},
		{`{"SS":["a"]}`, `{"SS":["a","b"]}`}, {`{"M":{}}`, `{"L":[]}`}, {`{"BOOL":true}`, `{"BOOL":false}`},
	} {
		if parse(t, pair[0]).Equal(parse(t, pair[1])) {
			t.Errorf("%s equals %s", pair[0], pair[1])
		}
	}
}

// The rules and their examples: CapacityUnitCalculations.html in the developer
// guide.
func TestSets(t *testing.T) {
	t.Run("AreReturnedInAscendingOrder", func(t *testing.T) {
		for wire, want := range map[string]string{
			`{"SS":["b","a","é","Z","aa",""]}`:         `{"SS":["","Z","a","aa","b","é"]}`,
			`{"NS":["10","-3","2","2.5","1e2","-30"]}`: `{"NS":["-30","-3","2","2.5","10","100"]}`,
			`{"BS":["YmI=","YQ==","Yg==","/w=="]}`:     `{"BS":["YQ==","Yg==","YmI=","/w=="]}`,
		} {
			if got, err := json.Marshal(parse(t, wire)); err != nil || string(got) != want {
				t.Errorf("%s became %s, %v; want %s", wire, got, err, want)
			}
		}
	})

	t.Run("StaySortedAfterAddAndDelete", func(t *testing.T) {
		set := parse(t, `{"NS":["7","1"]}`).Union(parse(t, `{"NS":["3","10","1"]}`))
		if !set.Equal(parse(t, `{"NS":["10","7","3","1"]}`)) || set.Elems[1].Number != Count(3) {
			t.Errorf("the union is %v", set)
		}
		rest, ok := set.Minus(parse(t, `{"NS":["3"]}`))
		if !ok || !rest.Equal(parse(t, `{"NS":["10","1","7"]}`)) {
			t.Errorf("the rest is %v", rest)
		}
	})
}

// TestSizes checks that the sizes of values follow the documented rules.
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
