package conformance

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Constraints.html in the developer guide for the limits. The messages are the service's own; a caller reads them, and
// the library's tests of bad input do.
func TestValidation(t *testing.T) {
	const (
		wrongKey  = "The provided key element does not match the schema"
		undefined = "is not defined"
		syntax    = "Syntax error"
	)

	onEveryEngine(t, func(s *suite) {
		get := func(c *check, key item) error {
			_, err := c.db.GetItem(c.ctx, &dynamodb.GetItemInput{TableName: &c.table, Key: key})
			return err
		}
		putRaw := func(c *check, it item) error {
			_, err := c.db.PutItem(c.ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: it})
			return err
		}

		s.check("AKeyThatIsNotTheTablesIsRefused", func(c *check) {
			for _, key := range []item{
				{"pk": str("x")},
				{"sk": str("x")},
				{"pk": str("x"), "other": str("x")},
				{"pk": str("x"), "sk": str("x"), "other": str("x")},
				{"pk": str("x"), "sk": n(1)},
			} {
				c.invalid(get(c, key), wrongKey)
				_, err := c.db.UpdateItem(c.ctx, &dynamodb.UpdateItemInput{TableName: &c.table, Key: key, UpdateExpression: aws.String("REMOVE a")})
				c.invalid(err, wrongKey)
				c.invalid(errorOf(c.db.DeleteItem(c.ctx, &dynamodb.DeleteItemInput{TableName: &c.table, Key: key})), wrongKey)
			}
		})

		s.check("AnItemWithoutItsKeysOrWithWrongTypesIsRefused", func(c *check) {
			c.invalid(putRaw(c, item{"pk": str("x")}), "Missing the key sk in the item")
			c.invalid(putRaw(c, item{"sk": str("x")}), "Missing the key pk in the item")
			c.invalid(putRaw(c, item{"pk": str("x"), "sk": n(1)}), "Type mismatch for key sk expected: S actual: N")
		})

		s.check("AnEmptyKeyIsRefused", func(c *check) {
			c.invalid(putRaw(c, item{"pk": str(""), "sk": str("x")}), "empty string")
			c.invalid(putRaw(c, item{"pk": str("x"), "sk": str("")}), "empty string")
			c.invalid(get(c, item{"pk": str(""), "sk": str("x")}), "empty string")
		})

		s.check("KeysHaveTheirLimitsInBytes", func(c *check) {
			long := func(bytes int) value { return str(strings.Repeat("k", bytes)) }
			c.must(putRaw(c, item{"pk": long(2048), "sk": long(1024)}))
			c.invalid(putRaw(c, item{"pk": long(2049), "sk": long(1)}), "2048 bytes")
			c.invalid(putRaw(c, item{"pk": long(1), "sk": long(1025)}), "1024 bytes")
			c.invalid(putRaw(c, item{"pk": long(1), "sk": str(strings.Repeat("é", 513))}), "1024 bytes")
		})

		s.check("KeysCannotBeUpdated", func(c *check) {
			for _, o := range []op{
				{update: "SET pk = :v", values: item{":v": str("y")}},
				{update: "SET sk = :v", values: item{":v": str("y")}},
				{update: "REMOVE sk"},
			} {
				c.invalid(errorOf(c.update("x", o)), "This attribute is part of the key")
			}
		})

		// Each is sent as an update; what is wrong with it is wrong in every expression.
		refused := func(property string, cases map[string]op, parts ...string) {
			s.check(property, func(c *check) {
				c.given("x", item{"a": n(1)})
				for name, o := range cases {
					_, err := c.update("x", o)
					before := len(c.failures)
					c.invalid(err, parts...)
					for i := before; i < len(c.failures); i++ {
						c.failures[i] = name + ": " + c.failures[i]
					}
				}
				c.holds("x", item{"a": n(1)})
			})
		}

		one := item{":one": n(1)}
		refused("UndefinedPlaceholdersAreRefused", map[string]op{
			"a value in an update":    {update: "SET a = :v"},
			"a value beside another":  {update: "SET a = :one, b = :v", values: one},
			"a name in an update":     {update: "SET #n = :one", values: one},
			"a value in a condition":  {update: "SET a = :one", condition: "a = :v", values: one},
			"a name in a condition":   {update: "SET a = :one", condition: "#n = :one", values: one},
			"a name inside of a path": {update: "SET a.#n = :one", values: one},
		}, undefined)

		refused("UnusedPlaceholdersAreRefused", map[string]op{
			"a value": {update: "SET a = :one", values: item{":one": n(1), ":v": n(2)}},
			"a name":  {update: "SET a = :one", values: one, names: map[string]string{"#n": "b"}},
		}, "unused in expressions")

		// Constraints.html, "Expression parameters": 255 bytes.
		long := strings.Repeat("n", 255)
		refused("PlaceholdersLongerThan255BytesAreRefused", map[string]op{
			"a value": {update: "SET a = :" + long, values: item{":" + long: n(1)}},
			"a name":  {update: "REMOVE #" + long, names: map[string]string{"#" + long: "b"}},
		}, "too long")

		refused("PlaceholdersWithoutAnExpressionAreRefused", map[string]op{
			"values": {values: one},
			"names":  {names: map[string]string{"#n": "b"}},
		}, "can only be specified when using expressions")

		refused("OverlappingPathsAreRefused", map[string]op{
			"the same twice":      {update: "SET a = :one, a = :one", values: one},
			"set and removed":     {update: "SET a = :one REMOVE a", values: one},
			"one inside another":  {update: "SET m = :one, m.k = :one", values: one},
			"one around another":  {update: "REMOVE m.k.l, m.k"},
			"through a name":      {update: "SET #n = :one, a = :one", values: one, names: map[string]string{"#n": "a"}},
			"an index and a list": {update: "SET l[1] = :one REMOVE l", values: one},
		}, "Two document paths overlap with each other")

		refused("PathsIntoKeysAreRefused", map[string]op{
			"read by an update":   {update: "SET a = if_not_exists(sk.k, :one)", values: one},
			"read by a condition": {update: "SET a = :one", condition: "pk[0] <> :one", values: one},
			"read through a name": {update: "SET a = :one", condition: "attribute_not_exists(#k.k)", names: map[string]string{"#k": "sk"}, values: one},
		}, "Key attributes must be scalars")

		refused("ReservedWordsMustBePlaceholders", map[string]op{
			"until in an update":  {update: "SET until = :one", values: one},
			"owner in an update":  {update: "SET owner = :one", values: one},
			"ttl in an update":    {update: "SET m.ttl = :one", values: one},
			"data in an update":   {update: "REMOVE data"},
			"mode in a condition": {update: "SET a = :one", condition: "attribute_exists(mode)", values: one},
			"in capital letters":  {update: "SET UNTIL = :one", values: one},
		}, "Attribute name is a reserved keyword")

		refused("UpdatesThatDoNotParseAreRefused", map[string]op{
			"no action":           {update: "SET"},
			"no value":            {update: "SET a ="},
			"a comma too many":    {update: "SET a = :one,", values: one},
			"an unknown clause":   {update: "PUT a = :one", values: one},
			"three operands":      {update: "SET a = :one + :one + :one", values: one},
			"a sum in a function": {update: "SET a = if_not_exists(a, :one + :one)", values: one},
			"a literal":           {update: "SET a = 1"},
			"a dash in a name":    {update: "SET a-b = :one", values: one},
			"a value as a target": {update: "SET :one = :one", values: one},
		}, syntax)

		refused("NamesThatDoNotStartWithALetterMustBePlaceholders", map[string]op{
			"an underscore": {update: "SET _a = :one", values: one},
			"a digit":       {update: "SET 1a = :one", values: one},
		}, syntax)

		refused("ConditionsThatDoNotParseAreRefused", map[string]op{
			"an open bracket":     {update: "SET a = :one", condition: "(a = :one", values: one},
			"an operator alone":   {update: "SET a = :one", condition: "a =", values: one},
			"two comparisons":     {update: "SET a = :one", condition: "a = :one = :one", values: one},
			"an unknown operator": {update: "SET a = :one", condition: "a == :one", values: one},
			"AND without a right": {update: "SET a = :one", condition: "a = :one AND", values: one},
		}, syntax)

		refused("AClauseTwiceIsRefused", map[string]op{
			"SET":    {update: "SET a = :one SET b = :one", values: one},
			"REMOVE": {update: "REMOVE a SET b = :one REMOVE c", values: one},
		}, "section can only be used once in an update expression")

		refused("FunctionsAreCheckedByNamePlaceAndOperands", map[string]op{
			"an unknown one":                {update: "SET a = nope(a, :one)", values: one},
			"an unknown one in a condition": {update: "SET a = :one", condition: "nope(a)", values: one},
			"a condition's in an update":    {update: "SET a = attribute_exists(b)"},
			"an update's in a condition":    {update: "SET a = :one", condition: "if_not_exists(a, :one)", values: one},
			"size as a condition":           {update: "SET a = :one", condition: "size(a)", values: one},
			"attribute_exists with two":     {update: "SET a = :one", condition: "attribute_exists(a, b)", values: one},
			"attribute_exists of a value":   {update: "SET a = :one", condition: "attribute_exists(:one)", values: one},
			"begins_with a number":          {update: "SET a = :one", condition: "begins_with(a, :one)", values: one},
			"if_not_exists of a value":      {update: "SET a = if_not_exists(:one, :one)", values: one},
			"list_append of a number":       {update: "SET a = list_append(a, :one)", values: one},
			"a sum with a string":           {update: "SET a = a + :s", values: item{":s": str("s")}},
			"ADD of a string":               {update: "ADD a :s", values: item{":s": str("s")}},
			"DELETE of a number":            {update: "DELETE a :one", values: one},
		}, "Invalid ")

		refused("AttributeTypeKnowsTheTenTypes", map[string]op{
			"another": {update: "SET a = :one", condition: "attribute_type(a, :s)", values: item{":one": n(1), ":s": str("X")}},
		}, "Invalid ")

		s.check("BetweenValuesInTheWrongOrderIsRefused", func(c *check) {
			_, err := c.update("x", op{
				update: "SET a = :lo", condition: "a BETWEEN :hi AND :lo", values: item{":lo": n(1), ":hi": n(2)},
			})
			c.invalid(err, "The BETWEEN operator requires upper bound to be greater than or equal to lower bound")
		})

		s.check("EmptyExpressionsAreRefused", func(c *check) {
			_, err := c.db.UpdateItem(c.ctx, &dynamodb.UpdateItemInput{TableName: &c.table, Key: c.key("x"), UpdateExpression: aws.String("")})
			c.invalid(err, "The expression can not be empty")
			_, err = c.db.DeleteItem(c.ctx, &dynamodb.DeleteItemInput{TableName: &c.table, Key: c.key("x"), ConditionExpression: aws.String("")})
			c.invalid(err, "The expression can not be empty")
		})

		s.check("TableNamesHaveTheirForm", func(c *check) {
			for _, name := range []string{"ab", "no spaces", strings.Repeat("x", 256)} {
				c.invalid(errorOf(c.db.CreateTable(c.ctx, tableInput(name))))
			}
		})
	})
}
