package ticket_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/ticket"
)

// A resource keeps the highest ticket that it has seen, and refuses lower ones.
func ExampleNumber() {
	var highest ticket.Number
	write := func(token ticket.Number, text string) {
		if token.Less(highest) {
			fmt.Printf("refused %q: ticket %s is older than %s\n", text, token, highest)
			return
		}
		highest = token
		fmt.Printf("wrote %q\n", text)
	}
	write(ticket.FromUint64(33), "first")
	write(ticket.FromUint64(34), "second")
	write(ticket.FromUint64(33), "late")
	// Output:
	// wrote "first"
	// wrote "second"
	// refused "late": ticket 33 is older than 34
}

// Tickets outlive 64 bits, and JSON numbers.
func ExampleNumber_MarshalText() {
	token, err := ticket.Parse("36893488147419103232")
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := json.Marshal(map[string]ticket.Number{"token": token})
	fmt.Println(string(text), err)
	// Output:
	// {"token":"36893488147419103232"} <nil>
}

// Padded or not, a text is read as the same number.
func ExampleParse() {
	for _, text := range []string{"42", "00000000000000000000000000000000000042", "-1"} {
		token, err := ticket.Parse(text)
		fmt.Println(token, token.IsZero(), err == nil)
	}
	// Output:
	// 42 false true
	// 42 false true
	// 0 true false
}

// Padded numbers sort as strings do. Short ones are for people.
func ExampleNumber_Padded() {
	token := ticket.FromUint64(1234567890123)
	fmt.Println(token.Padded())
	fmt.Println(token.Short())
	fmt.Println(token.Compare(ticket.FromUint64(9)), token.Padded() > ticket.FromUint64(9).Padded())
	// Output:
	// 00000000000000000000000001234567890123
	// …890123
	// 1 true
}

func ExampleNumber_Next() {
	token := ticket.FromUint64(18446744073709551615)
	next, err := token.Next()
	fmt.Println(next, err)
	fmt.Println(next.Previous() == token, next.After(token))
	_, err = ticket.Max.Next()
	fmt.Println(errors.Is(err, ticket.ErrExhausted))
	// Output:
	// 18446744073709551616 <nil>
	// true 1
	// true
}

// The numbers beside one.
func ExampleNumber_Plus() {
	first := ticket.FromUint64(5)
	last := first.Plus(2)
	fmt.Println(last, last.Minus(2), first.Minus(9))
	// Output: 7 5 0
}
