package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
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
	if o := invoke(t, create...); o.code != 0 || o.stdout != "table \"queuelock\" is created, and is ready\n" || o.stderr != "" {
		t.Errorf("%+v", o)
	}
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
	mustBeShort(t, invoke(t, "table", "create", "--tag", "x"), exitUsage, "--tag x: need KEY=VALUE")
	mustBeShort(t, invoke(t, "table", "delete", "--yes"), exitFailed, "deletion protection: disable that first")
}

// TestTableDescribe checks the description of a table.
func TestTableDescribe(t *testing.T) {
	newEngine(t)
	o := invoke(t, "table", "describe")
	for _, part := range []string{"table  ", "queuelock\n", `"pk" (S), "sk" (S)` + "\n", "on demand\n", "expiresAt\n", "deletion protection     off\n", "recovery  ?\n"} {
		if !strings.Contains(o.stdout, part) || o.code != 0 {
			t.Errorf("%+v does not contain %q", o, part)
		}
	}
	if o := invoke(t, "table", "describe", "--partition-key", "name"); !strings.Contains(o.stdout, "not those that are needed") {
		t.Errorf("%+v", o)
	}
	var report tableReport
	o = invoke(t, "table", "describe", "--json")
	if err := json.Unmarshal([]byte(o.stdout), &report); err != nil || !report.KeysFit || report.TTL == nil || *report.TTL != "expiresAt" || report.Recovery != nil {
		t.Errorf("%v: %s", err, o.stdout)
	}
	mustBeShort(t, invoke(t, "table", "describe", "--table", "nosuch"), exitUnavailable, `no table "nosuch"`)
}

// TestTableDelete checks that delete asks, and spares locks that are in use.
func TestTableDelete(t *testing.T) {
	e := newEngine(t)
	lock := e.occupied(t, "x")
	mustBeShort(t, invoke(t, "table", "delete", "--yes"), exitFailed, `locks in use (1), such as "x" (lock)`, "--force")
	locktest.OK(t, lock.Release(t.Context()))
	for _, stdin := range []string{"", "y\n", "queuelock2\n"} {
		if o := answer(t, stdin, "table", "delete"); o.code != exitFailed || !strings.HasSuffix(o.stderr, "pass --yes\n") || !strings.Contains(o.stderr, `the table "queuelock" with about`) {
			t.Errorf("%q: %+v", stdin, o)
		}
	}
	answer(t, "queuelock\n", "table", "delete").prints(t, 0, "table \"queuelock\" is deleted\n")
	mustBeShort(t, answer(t, "", "table", "delete"), exitUnavailable, `no table "queuelock"`)
	locktest.OK(t, createTable(t.Context(), e.db, "queuelock"))
	client := locktest.Must(queuelock.New(e.db, "queuelock", queuelock.Config{}))
	locktest.Must(client.Acquire(t.Context(), queuelock.Key{Entity: "x"}, waitpolicy.NoWait))
	answer(t, "", "table", "delete", "--yes", "--force").ends(t, 0)
	if client.Close(t.Context()) == nil {
		t.Error("the lock was released in a table that is deleted")
	}
	mustBeShort(t, invoke(t, "table"), exitUsage, "a command is missing: see 'queuelock table --help'")
	mustBeShort(t, invoke(t, "table", "drop"), exitUsage, "did you mean 'queuelock table delete'?")
	mustBeShort(t, invoke(t, "table", "creat"), exitUsage, "did you mean 'queuelock table create'?")
}
