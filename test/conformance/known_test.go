package conformance

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/queuelock/queuelock/internal/testbed/engines"
)

// A difference is one known way in which an engine does not do what DynamoDB does.
type difference struct {
	engine string
	check  string // topic and property, as in the test's name
	says   string // the failures that the check then reports contain this, or one of these, separated by |
	why    string // what the engine does instead
}

// covers reports whether a failure is the known one.
func (d difference) covers(failure string) bool {
	for part := range strings.SplitSeq(d.says, "|") {
		if strings.Contains(failure, part) {
			return true
		}
	}
	return false
}

// differences of the engines that are not ours. The embedded engine must do what DynamoDB does.
var differences = []difference{
	// dynoxide 1.2.1.
	{engines.Dynoxide, "Updates/RemovingBelowWhatIsNotThereIsRefused",
		"accepted", "REMOVE below an absent attribute does nothing"},
	{engines.Dynoxide, "Updates/RemovingBelowAnItemThatIsNotThereDoesNothing",
		"the stored item|accepted", "an update that only removes creates its item, and REMOVE below an absent attribute does nothing"},
	{engines.Dynoxide, "Updates/ListElementsAreReplacedAndThoseBeyondTheEndAppended",
		"AttributeValueMemberNULL", "SET beyond the end of a list fills the gap with NULL"},
	{engines.Dynoxide, "Updates/IndexesMeanTheListAsItWas",
		`"2"`, "REMOVE of several elements counts each in the list that the one before left"},
	{engines.Dynoxide, "Updates/ArithmeticOnWhatIsNoNumberIsRefused",
		"Operands for + must be numbers", "another message for a sum with what is no number"},
	{engines.Dynoxide, "Validation/NamesThatDoNotStartWithALetterMustBePlaceholders",
		"an underscore: accepted|the stored item", "a name may start with an underscore"},
	{engines.Dynoxide, "Validation/PathsIntoKeysAreRefused",
		"accepted|the stored item", "a path into a key attribute leads nowhere"},
	{engines.Dynoxide, "Validation/PlaceholdersLongerThan255BytesAreRefused",
		"accepted|the stored item", "a placeholder may have any length"},
	{engines.Dynoxide, "Validation/ConditionsThatDoNotParseAreRefused",
		"Invalid ConditionExpression: Expected", "other messages for conditions that end too early"},
	{engines.Dynoxide, "Validation/AttributeTypeKnowsTheTenTypes",
		"ConditionalCheckFailedException", "attribute_type of a type that does not exist is false"},
	{engines.Dynoxide, "Transactions/ABadConditionIsAValidationExceptionNotACancellation",
		"TransactionCanceledException", "a bad expression cancels the transaction"},
	{engines.Dynoxide, "Returns/UpdateOfNothingReturnsNoOldValues",
		"ALL_OLD", "ALL_OLD of an update that created the item returns its key"},
	{engines.Dynoxide, "Tables/EnablingTimeToLiveAgainIsRefused",
		"accepted", "enabling TTL again does nothing"},
	{engines.Dynoxide, "Queries/AKeyConditionOfAnotherTypeIsRefused",
		"accepted", "a key condition of another type finds nothing"},
	{engines.Dynoxide, "Queries/ASortKeyConditionHasTheLimitsOfASortKey",
		"accepted", "a key condition with an empty or too long sort key finds nothing"},
	{engines.Dynoxide, "Queries/BeginsWithDistinguishesUpperAndLowerCase",
		"of a|of A", "begins_with of a key condition ignores case"},
	{engines.Dynoxide, "Returns/UpdatedValuesOfListElementsAreThoseIndexesOfTheList",
		"UPDATED_", "UPDATED_OLD and UPDATED_NEW of a list element return the whole list"},
	{engines.Dynoxide, "Values/SetsAreReturnedInAscendingOrder",
		"the members are", "a set keeps the order in which its members were written"},

	// DynamoDB Local, as of January 2020. What it lacks, the service learned later. The items of refused puts, updates and
	// deletes, which the library requires, are put into its answers by package engines.
	{engines.DynamoDBLocal, "Responses/ResponsesCarryTheServersDate",
		"no Date", "responses have no Date header"},
	{engines.DynamoDBLocal, "Values/EmptyStringsAndBytesAreValuesToo",
		"may not contain an empty string|may not contain a null or empty binary", "empty strings and bytes are refused"},
	{engines.DynamoDBLocal, "Transactions/AHundredActionsAreAcceptedAndOneMoreIsRefused",
		"less than or equal to 10", "a transaction has ten actions at most"},
	{engines.DynamoDBLocal, "Transactions/TheSameTokenAndRequestTakesEffectOnce",
		"IdempotentParameterMismatchException", "a repeated request must also have its members in the same order"},
	{engines.DynamoDBLocal, "Transactions/AnUpdateThatCannotBeComputedCancelsAll",
		"An operand in the update expression has an incorrect data type", "a ValidationException instead of a cancellation"},
	{engines.DynamoDBLocal, "Updates/RemovingBelowAnItemThatIsNotThereDoesNothing",
		"The document path provided in the update expression is invalid for update", "REMOVE below an absent attribute is refused also where there is no item"},
	{engines.DynamoDBLocal, "Returns/UpdatedValuesOfANestedPathAreThatPathAlone",
		`"other"`, "UPDATED_NEW of a nested path returns the whole attribute"},
	{engines.DynamoDBLocal, "Queries/BeginsWithDistinguishesUpperAndLowerCase",
		"of a|of A", "begins_with of a key condition ignores case"},
	{engines.DynamoDBLocal, "Returns/UpdatedValuesOfListElementsAreThoseIndexesOfTheList",
		"UPDATED_", "UPDATED_OLD and UPDATED_NEW of a list element return the whole list"},
	{engines.DynamoDBLocal, "Numbers/SumsComeBackInTheirShortestForm",
		`"3.0"`, "sums keep the zeros after the point"},
	{engines.DynamoDBLocal, "Capacity/AQueryOfNothingConsumesAUnit",
		"got 0 units", "a query that reads nothing consumes nothing"},
	{engines.DynamoDBLocal, "Capacity/ABatchConsumesAsItsWritesWould",
		"got 5 units", "a batch with a delete of nothing consumes one unit more"},
	{engines.DynamoDBLocal, "Validation/AKeyThatIsNotTheTablesIsRefused",
		"The number of conditions on the keys is invalid|One of the required keys was not given a value|Type mismatch for attribute to update",
		"other messages for a wrong key"},
	{engines.DynamoDBLocal, "Validation/AnItemWithoutItsKeysOrWithWrongTypesIsRefused",
		"One of the required keys was not given a value|Type mismatch for attribute to update", "other messages for a wrong key"},
	{engines.DynamoDBLocal, "Batches/AWrongKeyRefusesTheWholeBatch",
		"The number of conditions on the keys is invalid", "another message for a wrong key"},
}

var (
	metLock sync.Mutex
	met     = map[difference]bool{}
	ranOn   = map[string]bool{}
)

// settle reports the outcome of a check as its test's outcome.
func settle(t *testing.T, engine, check string, failures []string) {
	t.Helper()
	known, ok := find(engine, check)
	metLock.Lock()
	ranOn[engine] = true
	if ok {
		met[known] = true
	}
	metLock.Unlock()

	if ok {
		t.Logf("known difference of %s: %s", engine, known.why)
		failures = unexpected(known, failures)
	}
	for _, failure := range failures {
		t.Error(failure)
	}
}

// unexpected returns what is to be reported of a check with a known difference: a failure of another kind, or none at all.
func unexpected(known difference, failures []string) (report []string) {
	for _, failure := range failures {
		if !known.covers(failure) {
			report = append(report, fmt.Sprintf("not the known difference, whose failures say %q: %s", known.says, failure))
		}
	}
	if len(failures) == 0 {
		report = append(report, "it does what DynamoDB does here by now: remove the known difference")
	}
	return report
}

func find(engine, check string) (difference, bool) {
	for _, d := range differences {
		if d.engine == engine && d.check == check {
			return d, true
		}
	}
	return difference{}, false
}

// unmet returns the differences of engines that ran whose check did not.
func unmet() []difference {
	metLock.Lock()
	defer metLock.Unlock()
	var none []difference
	for _, d := range differences {
		if ranOn[d.engine] && !met[d] {
			none = append(none, d)
		}
	}
	return none
}

// TestKnownDifferences checks that all known differences are those of other engines.
func TestKnownDifferences(t *testing.T) {
	seen := map[[2]string]bool{}
	for _, d := range differences {
		if d.engine != engines.Dynoxide && d.engine != engines.DynamoDBLocal {
			t.Errorf("%s: %s: only the engines that are not ours may differ", d.engine, d.check)
		}
		if d.says == "" || d.why == "" {
			t.Errorf("%s: %s: say what its failure says, and what the engine does", d.engine, d.check)
		}
		if key := [2]string{d.engine, d.check}; seen[key] {
			t.Errorf("%s: %s: is there twice", d.engine, d.check)
		} else {
			seen[key] = true
		}
	}
}

// TestCoverOfKnownDifference checks that a known difference covers only its own failures,
// and must occur.
func TestCoverOfKnownDifference(t *testing.T) {
	known := difference{says: "no Date|no header"}
	for _, tc := range []struct {
		failures []string
		want     string // part of the only report; empty for none
	}{
		{[]string{"no Date", "put: no header at all"}, ""},
		{[]string{"no Date", "no item"}, "no item"},
		{nil, "remove the known difference"},
	} {
		got := unexpected(known, tc.failures)
		switch {
		case tc.want == "" && len(got) != 0:
			t.Errorf("%q: got %q, want nothing to be reported", tc.failures, got)
		case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
			t.Errorf("%q: got %q, want one report with %q", tc.failures, got, tc.want)
		}
	}
}
