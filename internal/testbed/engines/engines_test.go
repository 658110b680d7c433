package engines

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func TestMain(m *testing.M) { os.Exit(Main(m).Run()) }

// TestSelection checks that the environment selects the engines that run.
func TestSelection(t *testing.T) {
	for _, tc := range []struct {
		list, endpoint string
		want           string // the names in order, those that must be there with a !
	}{
		{"", "", "embedded dynoxide dynamodb-local"},
		{"", "http://127.0.0.1:1", "embedded dynoxide dynamodb-local endpoint!"},
		{"embedded", "", "embedded!"},
		{" dynamodb-local , embedded ,", "", "embedded! dynamodb-local!"},
		{"dynoxide", "http://127.0.0.1:1", "dynoxide! endpoint!"},
		{"endpoint", "http://127.0.0.1:1", "endpoint!"},
	} {
		t.Run(tc.list+" "+tc.endpoint, func(t *testing.T) {
			chosen, err := choose(tc.list, tc.endpoint)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range chosen {
				if e.required {
					e.Name += "!"
				}
				got = append(got, e.Name)
			}
			if got := strings.Join(got, " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestUnknownEngine(t *testing.T) {
	for list, want := range map[string]string{
		"dynamite": `names "dynamite"`,
		"endpoint": endpointVariable + " is not set",
	} {
		if _, err := choose(list, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s=%s: got %v, want an error that contains %q", listVariable, list, err, want)
		}
	}
}

// TestFailedStart checks that the error of a child that fails to start includes its
// output.
func TestFailedStart(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$", "-no-such-flag")
	p, err := launch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.serve("http://127.0.0.1:1")
	if err == nil || !strings.Contains(err.Error(), "ended before it was ready") || !strings.Contains(err.Error(), "-no-such-flag") {
		t.Fatalf("got %v, want an error with the child's output", err)
	}
}

func TestStoppedEngine(t *testing.T) {
	for name, open := range map[string]func() (*running, error){Dynoxide: openDynoxide, DynamoDBLocal: openDynamoDBLocal} {
		r, err := open()
		if isMissing(err) && !strings.Contains(os.Getenv(listVariable), name) {
			t.Logf("%s left out: %v", name, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		db := r.client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
		r.stop()
		if _, err := db.ListTables(t.Context(), &dynamodb.ListTablesInput{}); err == nil {
			t.Error("it still answers")
		}
	}
}
