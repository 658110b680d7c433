package clause_test

import (
	"fmt"

	"github.com/queuelock/queuelock/clause"
)

// One value says what DynamoDB is asked for, and what the request does.
func ExampleWrite() {
	names := clause.Names{Key: "pk"}
	stock := clause.At("stock")
	order := clause.Write{
		Name: "ORDER",
		If:   []clause.Cond{stock.AtLeast(clause.V(clause.Int(1))).As("in stock")},
		Do:   []clause.Change{stock.Set(stock.Was().Plus(clause.Int(-1)))},
	}
	sent, err := order.Builder(names).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*sent.Condition(), "|", *sent.Update())

	shoes := clause.Item{"pk": clause.String("shoes"), "stock": clause.Int(1)}
	for range 2 {
		if why := order.Refuses(names, shoes); why != nil {
			fmt.Println("refused:", why.Name())
		}
		shoes, _ = order.Apply(names, shoes)
	}
	left := clause.Reader{Item: shoes}
	fmt.Println(left.Int("stock"), left.Err)
	// Output:
	// #0 >= :0 | SET #0 = #0 + :1
	//
	// refused: in stock
	// 0 <nil>
}
