package embedded

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

type keySchemaElement struct {
	AttributeName string
	KeyType       string
}

type attributeDefinition struct {
	AttributeName string
	AttributeType string
}

type throughput struct {
	ReadCapacityUnits  int64
	WriteCapacityUnits int64
}

type createTableRequest struct {
	TableName                 *string
	KeySchema                 []keySchemaElement
	AttributeDefinitions      []attributeDefinition
	BillingMode               string
	ProvisionedThroughput     *throughput
	DeletionProtectionEnabled bool
	LocalSecondaryIndexes     []any
	GlobalSecondaryIndexes    []any
	StreamSpecification       *struct{ StreamEnabled bool }
}

// createTable makes a table that is active at once.
func (e *Engine) createTable(req *createTableRequest) (any, error) {
	t, err := newTable(req, e.cfg.Now())
	if err != nil {
		return nil, err
	}
	if e.tables[t.name] != nil {
		return nil, &failure{kind: serviceErrors + "ResourceInUseException", message: "Table already exists: " + t.name}
	}
	e.tables[t.name] = t
	e.changed(TableEntry, t.name, "", t.kept())
	return map[string]any{"TableDescription": t.describe("ACTIVE")}, nil
}

// newTable is the table that a request asks for.
func newTable(req *createTableRequest, created time.Time) (*table, error) {
	if req.TableName == nil {
		return nil, invalid("The parameter 'TableName' is required but was not present in the request")
	}
	name, err := tableName(*req.TableName)
	if err != nil {
		return nil, err
	}
	switch {
	case len(name) < 3:
		return nil, constraint(name, "tableName", "Member must have length greater than or equal to 3")
	case len(req.LocalSecondaryIndexes)+len(req.GlobalSecondaryIndexes) > 0:
		return nil, invalid(notSupported + "secondary indexes")
	case req.StreamSpecification != nil && req.StreamSpecification.StreamEnabled:
		return nil, invalid(notSupported + "streams")
	}
	t := &table{name: name, byKey: map[string]*part{}, created: created, protected: req.DeletionProtectionEnabled}
	if err := t.setKeys(req.KeySchema, req.AttributeDefinitions); err != nil {
		return nil, err
	}
	if err := t.setBilling(req); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *table) setKeys(schema []keySchemaElement, defined []attributeDefinition) error {
	switch {
	case len(schema) == 0:
		return absent("keySchema")
	case len(defined) == 0:
		return absent("attributeDefinitions")
	case len(schema) > 2:
		elements := make([]string, len(schema))
		for i, s := range schema {
			elements[i] = "KeySchemaElement(attributeName=" + s.AttributeName + ", keyType=" + s.KeyType + ")"
		}
		return constraint("["+strings.Join(elements, ", ")+"]", "keySchema", "Member must have length less than or equal to 2")
	}
	kinds, err := kindsOf(defined)
	if err != nil {
		return err
	}
	if err := checkSchema(schema); err != nil {
		return err
	}
	for _, s := range schema {
		if kinds[s.AttributeName] == "" {
			return invalid("One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [%s], AttributeDefinitions: %s", s.AttributeName, names(defined))
		}
	}
	if len(schema) != len(kinds) {
		return invalid("One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}
	t.partition = keyAttribute{schema[0].AttributeName, kinds[schema[0].AttributeName]}
	if len(schema) == 2 {
		t.sort = keyAttribute{schema[1].AttributeName, kinds[schema[1].AttributeName]}
	}
	return nil
}

// kindsOf checks the attribute definitions and returns the kinds by name.
func kindsOf(defined []attributeDefinition) (map[string]value.Kind, error) {
	kinds := map[string]value.Kind{}
	for i, d := range defined {
		member := "attributeDefinitions." + strconv.Itoa(i+1) + ".member."
		if d.AttributeName == "" {
			return nil, absent(member + "attributeName")
		}
		if err := oneOf(d.AttributeType, member+"attributeType", "B", "N", "S"); err != nil {
			return nil, err
		}
		if d.AttributeType == "" {
			return nil, absent(member + "attributeType")
		}
		if len(d.AttributeName) > 255 {
			return nil, constraint(d.AttributeName, member+"attributeName", "Member must have length less than or equal to 255")
		}
		if kinds[d.AttributeName] != "" {
			return nil, invalid("One or more parameter values were invalid: Duplicate AttributeName in AttributeDefinitions: %s", d.AttributeName)
		}
		kinds[d.AttributeName] = value.Kind(d.AttributeType)
	}
	return kinds, nil
}

// checkSchema checks the key schema apart from the attribute definitions.
func checkSchema(schema []keySchemaElement) error {
	for i, s := range schema {
		member := "keySchema." + strconv.Itoa(i+1) + ".member."
		if s.AttributeName == "" {
			return absent(member + "attributeName")
		}
		if s.KeyType == "" {
			return absent(member + "keyType")
		}
		if err := oneOf(s.KeyType, member+"keyType", "HASH", "RANGE"); err != nil {
			return err
		}
	}
	switch {
	case schema[0].KeyType != "HASH":
		return invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	case len(schema) == 2 && schema[1].KeyType != "RANGE":
		return invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	case len(schema) == 2 && schema[0].AttributeName == schema[1].AttributeName:
		return invalid("Invalid KeySchema: Some index key attribute have no definition")
	}
	return nil
}

func names(defined []attributeDefinition) string {
	all := make([]string, len(defined))
	for i, d := range defined {
		all[i] = d.AttributeName
	}
	return fmt.Sprint(all)
}

func (t *table) setBilling(req *createTableRequest) error {
	if err := oneOf(req.BillingMode, "billingMode", "PROVISIONED", "PAY_PER_REQUEST"); err != nil {
		return err
	}
	t.billing = req.BillingMode
	if t.billing == "" {
		t.billing = "PROVISIONED"
	}
	p := req.ProvisionedThroughput
	switch {
	case t.billing == "PAY_PER_REQUEST" && p != nil:
		return invalid("One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
	case t.billing == "PAY_PER_REQUEST":
	case p == nil:
		return invalid("One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	case p.ReadCapacityUnits < 1:
		return constraint(fmt.Sprint(p.ReadCapacityUnits), "provisionedThroughput.readCapacityUnits", "Member must have value greater than or equal to 1")
	case p.WriteCapacityUnits < 1:
		return constraint(fmt.Sprint(p.WriteCapacityUnits), "provisionedThroughput.writeCapacityUnits", "Member must have value greater than or equal to 1")
	default:
		t.throughput = *p
	}
	return nil
}

// describe is the table's description. Its counts are of this moment, where
// DynamoDB brings them up to date every six hours or so.
func (t *table) describe(status string) map[string]any {
	schema, defined := t.keys()
	created := float64(t.created.UnixMilli()) / 1000
	d := map[string]any{
		"TableName":            t.name,
		"TableStatus":          status,
		"TableArn":             t.arn(),
		"TableId":              fmt.Sprintf("00000000-0000-4000-8000-%012x", hashOf(t.name)>>16),
		"KeySchema":            schema,
		"AttributeDefinitions": defined,
		"CreationDateTime":     created,
		"ItemCount":            t.count,
		"TableSizeBytes":       t.size,
		"ProvisionedThroughput": map[string]any{
			"NumberOfDecreasesToday": 0,
			"ReadCapacityUnits":      t.throughput.ReadCapacityUnits,
			"WriteCapacityUnits":     t.throughput.WriteCapacityUnits,
		},
		"DeletionProtectionEnabled": t.protected,
	}
	if t.billing == "PAY_PER_REQUEST" {
		d["BillingModeSummary"] = map[string]any{"BillingMode": t.billing, "LastUpdateToPayPerRequestDateTime": created}
	}
	return d
}

// keys is the keys of the table as a request defines them.
func (t *table) keys() (schema []keySchemaElement, defined []attributeDefinition) {
	for i, a := range t.keyAttributes() {
		schema = append(schema, keySchemaElement{a.name, []string{"HASH", "RANGE"}[i]})
		defined = append(defined, attributeDefinition{a.name, string(a.kind)})
	}
	return schema, defined
}

// kept is the definition as a journal keeps it.
func (t *table) kept() keptTable {
	schema, defined := t.keys()
	req := createTableRequest{
		TableName: &t.name, KeySchema: schema, AttributeDefinitions: defined, BillingMode: t.billing, DeletionProtectionEnabled: t.protected,
	}
	if t.throughput != (throughput{}) {
		req.ProvisionedThroughput = &t.throughput
	}
	return keptTable{req, t.created, t.ttl}
}

func (t *table) arn() string { return "arn:aws:dynamodb:embedded:000000000000:table/" + t.name }

// named is the table for an operation on the table itself, whose refusal names
// it.
func (e *Engine) named(given string) (*table, error) {
	t, err := e.table(given)
	if f, ok := err.(*failure); ok && f.kind == serviceErrors+"ResourceNotFoundException" {
		return nil, &failure{kind: f.kind, message: f.message + ": Table: " + given + " not found"}
	}
	return t, err
}

type tableRequest struct{ TableName string }

func (e *Engine) describeTable(req *tableRequest) (any, error) {
	t, err := e.named(req.TableName)
	if err != nil {
		return nil, err
	}
	return map[string]any{"Table": t.describe("ACTIVE")}, nil
}

func (e *Engine) deleteTable(req *tableRequest) (any, error) {
	t, err := e.named(req.TableName)
	if err != nil {
		return nil, err
	}
	if t.protected {
		return nil, invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	delete(e.tables, t.name)
	e.changed(TableEntry, t.name, "", nil)
	d := t.describe("DELETING")
	for _, field := range []string{"CreationDateTime", "KeySchema", "AttributeDefinitions"} {
		delete(d, field) // the service omits these for a deleted table
	}
	return map[string]any{"TableDescription": d}, nil
}

type listTablesRequest struct {
	ExclusiveStartTableName string
	Limit                   *int
}

func (e *Engine) listTables(req *listTablesRequest) (any, error) {
	limit := 100
	if req.Limit != nil {
		limit = *req.Limit
		if limit < 1 {
			return nil, constraint(fmt.Sprint(limit), "limit", "Member must have value greater than or equal to 1")
		}
		if limit > 100 {
			return nil, constraint(fmt.Sprint(limit), "limit", "Member must have value less than or equal to 100")
		}
	}
	all := []string{}
	for name := range e.tables {
		if name > req.ExclusiveStartTableName {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	if len(all) <= limit {
		return map[string]any{"TableNames": all}, nil
	}
	return map[string]any{"TableNames": all[:limit], "LastEvaluatedTableName": all[limit-1]}, nil
}
