package docs_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestQuickStart runs the README's program as a process, with the settings that "queuelock local" prints.
func TestQuickStart(t *testing.T) {
	server := httptest.NewServer(embedded.New(embedded.Config{}))
	defer server.Close()
	db := dynamodb.New(dynamodb.Options{
		Region: "local", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	locktest.OK(t, queuelock.CreateTable(t.Context(), db, "queuelock", queuelock.Config{}))
	command := exec.CommandContext(t.Context(), "go", "run", "./examples/quickstart")
	command.Dir = root
	command.Env = append(os.Environ(), "AWS_ENDPOINT_URL_DYNAMODB="+server.URL, "AWS_REGION=local",
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null")
	out, err := command.CombinedOutput()
	if want := regexp.MustCompile(`^shipping order-7 with ticket \d+\n$`); err != nil || !want.Match(out) {
		t.Errorf("%v, %q, want %q", err, out, want)
	}
}
