package clause_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
)

// TestTypeNames checks that types are named with their article.
func TestTypeNames(t *testing.T) {
	for want, v := range map[string]types.AttributeValue{
		"a string": &types.AttributeValueMemberS{}, "a number": &types.AttributeValueMemberN{Value: "1"}, "binary": &types.AttributeValueMemberB{}, "a boolean": &types.AttributeValueMemberBOOL{},
		"null": &types.AttributeValueMemberNULL{}, "a map": &types.AttributeValueMemberM{}, "a list": &types.AttributeValueMemberL{}, "a set": &types.AttributeValueMemberNS{},
		"of an unknown type": &types.UnknownUnionMember{},
	} {
		if got := clause.TypeName(v); got != want {
			t.Errorf("%T is named %q, want %q", v, got, want)
		}
	}
}

// TestWhole checks that whole numbers in every form are read, and no other values.
func TestWhole(t *testing.T) {
	for s, want := range map[string]string{
		"0": "0", "7": "7", "-7": "-7", "+7": "7", "007": "7", "1E+3": "1000", "1e3": "1000", "1E3": "1000", "10.00e2": "1000", "1.50E1": "15",
		"100E-2": "1", "5.0": "5", "1E126": "1" + strings.Repeat("0", 126), strings.Repeat("9", 126): strings.Repeat("9", 126),
	} {
		if got, ok := clause.Whole(s); !ok || got.String() != want {
			t.Errorf("Whole(%q) = %v, %v, want %s", s, got, ok, want)
		}
	}
	for _, s := range []string{
		"", " ", "1 ", "x", "0x10", "0b1", "0o7", "1_000", "1E999999999", "1E-999999999", "1E127", "1E+127", "1e", "e1", "1e1e1", "1.5", "1E-1", "1/2", "Inf", "NaN",
		"-", ".", "--1", "1-1", "1.2.3", "1p3", strings.Repeat("9", 127), strings.Repeat("0", 1_000_000), "1E" + strings.Repeat("9", 100),
	} {
		if got, ok := clause.Whole(s); ok {
			t.Errorf("Whole(%.40q) = %v, want that it is refused", s, got)
		}
	}
}

func FuzzWhole(f *testing.F) {
	for _, s := range []string{"", "1", "1E+3", "1E999999999", "0x10", "1_000", "1.50e1", "-0", ".e+", "1e-5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := clause.Whole(s)
		if !ok {
			return
		}
		if strings.Trim(s, "0123456789.eE+-") != "" || got.BitLen() > 1000 {
			t.Fatalf("Whole(%q) = %v", s, got)
		}
		exact, isNumber := new(big.Rat).SetString(s)
		if !isNumber || exact.Cmp(new(big.Rat).SetInt(got)) != 0 {
			t.Fatalf("Whole(%q) = %v", s, got)
		}
	})
}
