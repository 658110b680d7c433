package conformance

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// notFound wants err to say that there is no such table.
func (c *check) notFound(what string, err error) { isA[*types.ResourceNotFoundException](c, what, err) }

// API_CreateTable.html, API_DescribeTable.html, API_DeleteTable.html, API_ListTables.html in the API reference; TTL.html
// in the developer guide.
func TestTables(t *testing.T) {
	onEveryEngine(t, func(s *suite) {
		s.check("ANewTableDescribesItself", func(c *check) {
			out, err := c.db.DescribeTable(c.ctx, &dynamodb.DescribeTableInput{TableName: &c.table})
			c.must(err)
			table, want := out.Table, tableInput(c.table)
			c.same("the name", aws.ToString(table.TableName), c.table)
			c.same("the status", table.TableStatus, types.TableStatusActive)
			if len(table.KeySchema) == 2 {
				for i := range 2 {
					c.same("the name of a key", table.KeySchema[i].AttributeName, want.KeySchema[i].AttributeName)
					c.same("the type of a key", table.KeySchema[i].KeyType, want.KeySchema[i].KeyType)
				}
			} else {
				c.Errorf("the table has %d keys", len(table.KeySchema))
			}
			c.same("the number of attribute definitions", len(table.AttributeDefinitions), 2)
			if table.BillingModeSummary == nil || table.BillingModeSummary.BillingMode != types.BillingModePayPerRequest {
				c.Errorf("the billing mode is %v", table.BillingModeSummary)
			}
			if aws.ToString(table.TableArn) == "" || table.CreationDateTime == nil {
				c.Errorf("no ARN or no time of creation: %v, %v", table.TableArn, table.CreationDateTime)
			}
		})

		s.check("CreatingATableTwiceIsRefused", func(c *check) {
			_, err := c.db.CreateTable(c.ctx, tableInput(c.table))
			isA[*types.ResourceInUseException](c, "CreateTable", err)
		})

		s.check("NumberAndBinaryKeysAndTablesWithoutSortKeyWork", func(c *check) {
			name := newTableName()
			in := tableInput(name)
			in.KeySchema, in.AttributeDefinitions = in.KeySchema[:1], in.AttributeDefinitions[:1]
			in.AttributeDefinitions[0].AttributeType = types.ScalarAttributeTypeN
			createTable(c.t, c.db, in)
			c.must(errorOf(c.db.PutItem(c.ctx, &dynamodb.PutItemInput{TableName: &name, Item: item{"pk": num("1.0"), "a": n(1)}})))
			out, err := c.db.GetItem(c.ctx, &dynamodb.GetItemInput{TableName: &name, Key: item{"pk": num("1")}, ConsistentRead: aws.Bool(true)})
			c.must(err)
			c.same("the item", out.Item, item{"pk": num("1"), "a": n(1)})
		})

		s.check("ADeletedTableIsGone", func(c *check) {
			name := newTableName()
			c.must(errorOf(c.db.CreateTable(c.ctx, tableInput(name))))
			awaitTable(c.t, c.db, name)
			deleteTable(c.t, c.db, name)
			gone := dynamodb.NewTableNotExistsWaiter(c.db, func(o *dynamodb.TableNotExistsWaiterOptions) { o.MinDelay = 20 * time.Millisecond })
			c.must(gone.Wait(c.ctx, &dynamodb.DescribeTableInput{TableName: &name}, time.Minute))
			c.notFound("DeleteTable", errorOf(c.db.DeleteTable(c.ctx, &dynamodb.DeleteTableInput{TableName: &name})))
		})

		s.check("EveryOperationOnAnUnknownTableIsResourceNotFound", func(c *check) {
			name := newTableName()
			c.notFound("DescribeTable", errorOf(c.db.DescribeTable(c.ctx, &dynamodb.DescribeTableInput{TableName: &name})))
			c.notFound("PutItem", errorOf(c.db.PutItem(c.ctx, &dynamodb.PutItemInput{TableName: &name, Item: c.key("x")})))
			c.notFound("GetItem", errorOf(c.db.GetItem(c.ctx, &dynamodb.GetItemInput{TableName: &name, Key: c.key("x")})))
			_, err := c.db.UpdateItem(c.ctx, &dynamodb.UpdateItemInput{TableName: &name, Key: c.key("x"), UpdateExpression: aws.String("REMOVE a")})
			c.notFound("UpdateItem", err)
			c.notFound("DeleteItem", errorOf(c.db.DeleteItem(c.ctx, &dynamodb.DeleteItemInput{TableName: &name, Key: c.key("x")})))
			_, err = c.db.Query(c.ctx, &dynamodb.QueryInput{
				TableName: &name, KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: item{":pk": str("x")},
			})
			c.notFound("Query", err)
			c.notFound("Scan", errorOf(c.db.Scan(c.ctx, &dynamodb.ScanInput{TableName: &name})))
			_, err = c.db.DescribeTimeToLive(c.ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
			c.notFound("DescribeTimeToLive", err)
			c.notFound("UpdateTimeToLive", errorOf(c.db.UpdateTimeToLive(c.ctx, timeToLive(name, "expiresAt", true))))
		})

		s.check("AKeyWithoutADefinitionOrADefinitionWithoutAKeyIsRefused", func(c *check) {
			in := tableInput(newTableName())
			in.AttributeDefinitions = in.AttributeDefinitions[:1]
			c.invalid(errorOf(c.db.CreateTable(c.ctx, in)))
			in = tableInput(newTableName())
			in.KeySchema = in.KeySchema[:1]
			c.invalid(errorOf(c.db.CreateTable(c.ctx, in)))
		})

		s.check("TablesAreListedInOrderPageByPage", func(c *check) {
			pages := dynamodb.NewListTablesPaginator(c.db, &dynamodb.ListTablesInput{Limit: aws.Int32(3)})
			var names []string
			for pages.HasMorePages() {
				page, err := pages.NextPage(c.ctx)
				c.must(err)
				if len(page.TableNames) > 3 {
					c.Errorf("a page of %d tables", len(page.TableNames))
				}
				names = append(names, page.TableNames...)
			}
			if !slices.Contains(names, c.table) || !slices.IsSorted(names) {
				c.Errorf("want all tables in order, and %s among them: %v", c.table, names)
			}
		})

		s.check("TimeToLiveIsOffUntilItIsEnabled", func(c *check) {
			describe := func() *types.TimeToLiveDescription {
				out, err := c.db.DescribeTimeToLive(c.ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &c.table})
				c.must(err)
				return out.TimeToLiveDescription
			}
			c.same("the status at first", describe().TimeToLiveStatus, types.TimeToLiveStatusDisabled)

			out, err := c.db.UpdateTimeToLive(c.ctx, timeToLive(c.table, "expiresAt", true))
			c.must(err)
			c.same("the attribute", aws.ToString(out.TimeToLiveSpecification.AttributeName), "expiresAt")
			now := describe()
			c.same("the attribute", aws.ToString(now.AttributeName), "expiresAt")
			if status := now.TimeToLiveStatus; status != types.TimeToLiveStatusEnabled && status != types.TimeToLiveStatusEnabling {
				c.Errorf("the status is %s", status)
			}
		})

		s.check("EnablingTimeToLiveAgainIsRefused", func(c *check) {
			// "TimeToLive is already enabled", or too soon after the last change: either way a caller has to look first, or
			// take the refusal for success.
			name := newTableName()
			createTable(c.t, c.db, tableInput(name))
			c.must(errorOf(c.db.UpdateTimeToLive(c.ctx, timeToLive(name, "expiresAt", true))))
			c.invalid(errorOf(c.db.UpdateTimeToLive(c.ctx, timeToLive(name, "expiresAt", true))))
		})

		s.check("AnExpiredItemIsStillReadUntilItIsDeleted", func(c *check) {
			// "Items that have expired, but haven't yet been deleted by TTL, still appear in reads": no client may take the
			// absence of a row for its expiry, or its presence for life. Deletion takes at least minutes.
			row := item{"expiresAt": n(int(time.Now().Add(-time.Hour).Unix()))}
			var got item
			for attempts := 0; got == nil && attempts < 5; attempts++ { // DynamoDB Local may delete it at once
				c.given("x", row)
				got = c.stored("x")
			}
			c.same("the stored item", got, row)
		})
	})
}

func timeToLive(table, attribute string, enabled bool) *dynamodb.UpdateTimeToLiveInput {
	return &dynamodb.UpdateTimeToLiveInput{
		TableName:               &table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &enabled},
	}
}
