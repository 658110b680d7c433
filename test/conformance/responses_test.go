package conformance

import (
	"errors"
	"testing"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Programming.Errors.html and Programming.LowLevelAPI.html in the developer guide. The SDK checks the CRC-32 of every
// response by itself.
func TestResponses(t *testing.T) {
	onEveryEngine(t, func(s *suite) {
		s.check("ResponsesCarryTheServersDate", func(c *check) {
			out, err := c.db.PutItem(c.ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: c.key("x")})
			c.must(err)
			date, ok := awsmiddleware.GetServerTime(out.ResultMetadata)
			if !ok {
				c.Fatalf("no Date")
			}
			if off := time.Since(date).Abs(); off > 5*time.Minute {
				c.Errorf("the Date is %v off", off)
			}
		})

		s.check("EachResponseHasARequestIdOfItsOwn", func(c *check) {
			seen := map[string]bool{}
			for range 3 {
				out, err := c.db.PutItem(c.ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: c.key("x")})
				c.must(err)
				id, ok := awsmiddleware.GetRequestIDMetadata(out.ResultMetadata)
				if !ok || id == "" || seen[id] {
					c.Errorf("the request id is %q, after %v", id, seen)
				}
				seen[id] = true
			}
		})

		s.check("RefusalsAreStatus400WithARequestId", func(c *check) {
			_, failed := c.put("absent", item{}, op{condition: "attribute_exists(pk)"})
			_, invalid := c.put("absent", item{}, op{condition: "nonsense"})
			_, missing := c.db.Scan(c.ctx, &dynamodb.ScanInput{TableName: optional(newTableName())})
			for name, err := range map[string]error{"failed condition": failed, "validation": invalid, "no table": missing} {
				var response *awshttp.ResponseError
				if !errors.As(err, &response) {
					c.Errorf("%s: not a response: %v", name, err)
					continue
				}
				c.same(name, response.HTTPStatusCode(), 400)
				if response.ServiceRequestID() == "" {
					c.Errorf("%s: no request id", name)
				}
			}
		})
	})
}
