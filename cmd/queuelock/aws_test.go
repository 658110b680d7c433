package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestMissingSettings checks that missing settings are one error that names them.
func TestMissingSettings(t *testing.T) {
	keys := []string{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"}
	for _, tc := range []struct {
		name  string
		env   []string
		names string
	}{
		{"no region", keys, "AWS_REGION"},
		{"no region's name", append(keys, "AWS_REGION=eu central"), `"eu central" is no AWS region: correct AWS_REGION`},
		{"no credentials", []string{"AWS_REGION=eu-central-1"}, "AWS_ACCESS_KEY_ID"},
		{"no such profile", []string{"AWS_PROFILE=missing"}, "missing"},
		{"neither, and a remote endpoint", []string{"AWS_ENDPOINT_URL_DYNAMODB=http://192.0.2.1:8000"}, "AWS_REGION"},
	} {
		for _, command := range []string{"run x -- true", "status x", "create-table"} {
			t.Run(tc.name+"/"+command, func(t *testing.T) {
				set(t, tc.env...)
				mustBeShort(t, invoke(t, strings.Fields(command)...), exitUnavailable, tc.names)
			})
		}
	}
}

// signatures serves an engine that notes who signed for which region.
func signatures(t *testing.T) (url string, signed func() string) {
	t.Helper()
	var last string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		last, _, _ = strings.Cut(scope, ",")
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string { return last }
}

// TestSettings checks that existing settings are used, and that a loopback endpoint needs none.
func TestSettings(t *testing.T) {
	url, signed := signatures(t)
	file := filepath.Join(t.TempDir(), "config")
	text := "[profile work]\nregion = eu-west-3\naws_access_key_id = worker\naws_secret_access_key = secret\n"
	locktest.OK(t, os.WriteFile(file, []byte(text), 0o600))
	for name, test := range map[string]struct{ env, key, region string }{
		"None":    {"", "local/", "/local/dynamodb/"},
		"Profile": {"AWS_CONFIG_FILE=" + file + " AWS_PROFILE=work", "worker/", "/eu-west-3/dynamodb/"},
		"Variables": {"AWS_REGION=eu-central-1 AWS_ACCESS_KEY_ID=key-id AWS_SECRET_ACCESS_KEY=secret " +
			"AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:1", "key-id/", "/eu-central-1/dynamodb/"}, // the flag goes before the last
	} {
		t.Run(name, func(t *testing.T) {
			set(t, strings.Fields(test.env)...)
			invoke(t, "status", "x", "--endpoint", url)
			if got := signed(); !strings.HasPrefix(got, test.key) || !strings.Contains(got, test.region) {
				t.Errorf("signed as %q, want %s%s", got, test.key, test.region)
			}
		})
	}
}

// TestUnusableTable checks that the error for an unusable table says what was found and what is needed.
func TestUnusableTable(t *testing.T) {
	e := newEngine(t)
	locktest.Must(e.db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String("other"),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("name"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("name"), KeyType: types.KeyTypeHash}},
	}))
	for table, parts := range map[string][]string{
		"nowhere": {`no table "nowhere"`, "check --table", "'queuelock table create --table nowhere'"},
		"other":   {`table "other"`, `partition key "name" (S) and no sort key`, `partition key "pk" (S) and sort key "sk" (S)`},
	} {
		for _, command := range []string{"run x --table " + table + " -- true", "status x --table " + table, "evict x --ticket 1 --table " + table} {
			t.Run(command, func(t *testing.T) {
				mustBeShort(t, invoke(t, strings.Fields(command)...), exitUnavailable, parts...)
			})
		}
	}
	invoke(t, "create-table", "--table", "other").ends(t, exitUnavailable, "no sort key")
	invoke(t, "create-table", "--table", "nowhere").prints(t, 0, "table \"nowhere\" is created, and is ready\n")
	invoke(t, "run", "x", "--table", "nowhere", "--", "true").ends(t, 0)
}

func TestEndpointsOfTheEnvironment(t *testing.T) {
	for env, want := range map[string]string{
		"":                          "",
		"AWS_ENDPOINT_URL=http://a": "http://a",
		"AWS_ENDPOINT_URL=http://a AWS_ENDPOINT_URL_DYNAMODB=http://b":                "http://b",
		"AWS_ENDPOINT_URL_DYNAMODB=http://b AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true": "",
	} {
		t.Run(env, func(t *testing.T) {
			set(t, strings.Fields(env)...)
			if got, err := new(settings).address(); err != nil || got != want {
				t.Errorf("address %q, %v; want %q", got, err, want)
			}
		})
	}
}

func TestLoopback(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"http://localhost:8000":                    true,
		"http://127.0.0.1:8000":                    true,
		"https://127.9.9.9":                        true,
		"http://[::1]:8000":                        true,
		"http://localhost.example":                 false,
		"http://10.0.0.1:8000":                     false,
		"https://dynamodb.eu-west-1.amazonaws.com": false,
		"":            false,
		"http://%zz":  false,
		"http://[::]": false,
	} {
		if got := isLoopback(endpoint); got != want {
			t.Errorf("isLoopback(%q) = %v", endpoint, got)
		}
	}
}

// TestEndpointVariable checks that a variable that is no URL is named.
func TestEndpointVariable(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "localhost:8000")
	mustBeShort(t, invoke(t, "status", "x"), exitUsage, "AWS_ENDPOINT_URL_DYNAMODB", "http://")
}

// TestSDKLogger checks that no client logs to standard error.
func TestSDKLogger(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1")
	db := locktest.Must((&settings{}).connect(t.Context()))
	defer db.close()
	for name, client := range map[string]*dynamodb.Client{"connect": db.Client, "another": db.another().Client, "connectLocal": connectLocal("http://127.0.0.1:1").Client} {
		if got := client.Options().Logger; got != noLogger {
			t.Errorf("%s: the logger is %T", name, got)
		}
	}
}
