package engines

import (
	"testing"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// SendsDate reports whether responses carry a Date header. Without it the library cannot estimate the server's clock,
// and judges expiry by observation.
func (e Engine) SendsDate(t testing.TB) bool {
	t.Helper()
	out, err := e.Client(t).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil {
		t.Fatalf("%s: %v", e.Name, err)
	}
	_, sent := awsmiddleware.GetServerTime(out.ResultMetadata)
	return sent
}
