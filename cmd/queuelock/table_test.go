package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/internal/embedded"
)

// TestTableCreate checks that create says whether it has created the table, and sets what
// the flags ask for.
func TestTableCreate(t *testing.T) {
	var asked []string
	tables := embedded.New(embedded.Config{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		body, _ := io.ReadAll(r.Body)
		if operation == "CreateTable" || operation == "UpdateContinuousBackups" {
			asked = append(asked, operation+" "+string(body))
		}
		if operation == "UpdateContinuousBackups" {
			fmt.Fprint(w, `{}`)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		tables.ServeHTTP(w, r)
	}))
	defer s.Close()
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", s.URL)
	create := []string{"table", "create", "--deletion-protection", "--point-in-time-recovery", "--tag", "team=ops", "--tag", "empty="}
	invoke(t, create...).prints(t, 0, "table \"queuelock\" is created, and is ready\n")
	for _, part := range []string{`"DeletionProtectionEnabled":true`, `{"Key":"team","Value":"ops"}`, `{"Key":"empty","Value":""}`, "PAY_PER_REQUEST",
		`"PointInTimeRecoveryEnabled":true`} {
		if !strings.Contains(strings.Join(asked, "\n"), part) {
			t.Errorf("%q does not contain %s", asked, part)
		}
	}
	asked = nil
	o := invoke(t, create...)
	if o.code != 0 || o.stdout != "table \"queuelock\" exists already, and is ready\n" || !strings.Contains(o.stderr, "left as they are") {
		t.Errorf("again: %+v", o)
	}
	if strings.Contains(strings.Join(asked, ""), "Continuous") {
		t.Error("the settings of a table that was there are changed")
	}
	invoke(t, "create-table", "--table", "other").prints(t, 0, "table \"other\" is created, and is ready\n")
}
