// Package expr reads and evaluates DynamoDB's expressions: conditions (also as
// filters and key conditions), updates and projections.
//
// The parsers accept the grammar of
// docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
// and Expressions.UpdateExpressions.html, and refuse with DynamoDB's own
// messages what DynamoDB refuses before it looks at any item: undefined
// placeholders, reserved words, overlapping paths, operands of an impossible
// type, redundant parentheses. Every error of this package is an Error, and
// means a ValidationException.
//
// Placeholders are resolved while parsing, through a Scope that also knows
// which of them no expression used. A parsed expression is immutable and needs
// its Scope no more.
//
// An Update reads only the item as it was: all right-hand sides are computed
// before anything is written, and list indexes mean the original positions.
// That is the property this package exists for.
package expr

// Error is a refusal in DynamoDB's words.
type Error string

func (e Error) Error() string { return string(e) }

// MaxSize is the longest expression DynamoDB reads, in bytes.
const MaxSize = 4096

// The limits of placeholders, in bytes: the length of one, #name or :value, and
// the sum of the names and values that all of a request stand for.
// docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	maxPlaceholder   = 255
	maxSubstitutions = 2 << 20
)

// maxOperators is the most operators or functions one expression may have.
const maxOperators = 300

// maxMembers is the longest operand list of IN.
const maxMembers = 100
