package ticket_test

import (
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
