package value

import (
	"testing"
)

func mustParse(t interface{ Fatal(...any) }, s string) Number {
	n, err := ParseNumber(s)
	if err != nil {
		t.Fatal(s, err)
	}
	return n
}

// TestSeconds checks that the seconds of a number are its whole part.
func TestSeconds(t *testing.T) {
	for given, want := range map[string]int64{"1700000000": 1700000000, "12.9": 12, "-3": -3, "0.5": 0} {
		if got, ok := mustParse(t, given).Seconds(); !ok || got != want {
			t.Errorf("%s: %d, %v", given, got, ok)
		}
	}
	if _, ok := mustParse(t, "1e30").Seconds(); ok {
		t.Error("1e30 seconds do not fit")
	}
}

// The sizes up to "-0" were measured on the service to the byte, by
// github.com/nubo-db/dynoxide (src/types.rs).
func TestNumberSize(t *testing.T) {
	for text, want := range map[string]int{
		"1": 2, "12": 2, "123": 3, "1234": 3, "12345": 4, "123456": 4, "1234567891": 6, "12345678912": 7, "123456789123": 7,
		"1234567890123456789": 11, "12345678901234567890123456789012345678": 20,
		"0042": 2, "100": 2, "1010": 3, "0.0000001": 2, "0": 1, "1E125": 2, "1E-100": 2,
		"1.5": 3, "1.200": 3, "1.234": 4, "3.14159": 5, "100.5": 4, "0.15": 2, "15": 2, "-42": 3, "-12345": 5, "-1E125": 3, "-0.15": 3, "-0": 1,

		"120": 3, "1200": 2, "0.015": 3, "0.0015": 2, "10.01": 3, "-1.5": 4,
	} {
		n, err := ParseNumber(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Size(); got != want {
			t.Errorf("%s has %d bytes, want %d", text, got, want)
		}
	}
}
