package ticket_test

import (
	"encoding/json"
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
