package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/template"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/waitpolicy"
)

// recorder is an engine without a table that records the actions that AWS would check, and the requests for a table.
type recorder struct {
	*engine
	mu      sync.Mutex
	actions map[string]bool // guarded by mu
	tables  []string        // guarded by mu
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{engine: newEngine(t), actions: map[string]bool{}}
	locktest.Must(r.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("queuelock")}))
	record := func(w http.ResponseWriter, request *http.Request) bool {
		body, _ := io.ReadAll(request.Body)
		request.Body = io.NopCloser(bytes.NewReader(body))
		_, operation, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
		r.record(operation, body)
		unknown := operation == "UpdateContinuousBackups" // to the embedded engine
		if unknown {
			fmt.Fprint(w, "{}")
		}
		return unknown
	}
	r.instead.Store(&record)
	return r
}

// record records an operation. A transaction is checked as the operations in it.
func (r *recorder) record(operation string, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var in struct {
		TransactItems []map[string]any
		Tags          []any
	}
	_ = json.Unmarshal(body, &in)
	switch operation {
	case "TransactWriteItems", "TransactGetItems":
		for _, item := range in.TransactItems {
			for kind := range item {
				action := map[string]string{"ConditionCheck": "ConditionCheckItem", "Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "Get": "GetItem"}[kind]
				r.actions[action] = true
			}
		}
		return
	case "CreateTable", "UpdateContinuousBackups":
		r.tables = append(r.tables, operation+" "+string(body))
		if len(in.Tags) > 0 {
			r.actions["TagResource"] = true
		}
	}
	r.actions[operation] = true
}

// used returns the actions, and the requests for a table, since the last call.
func (r *recorder) used() (actions []string, tables string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	actions, tables = slices.Sorted(maps.Keys(r.actions)), strings.Join(r.tables, "\n")
	r.actions, r.tables = map[string]bool{}, nil
	return actions, tables
}

// TestRoles checks that the policy of each role has the actions that its commands, and the
// library, are checked for, and no others.
func TestRoles(t *testing.T) {
	r := newRecorder(t)
	must := func(code int, args ...string) {
		t.Helper()
		invoke(t, args...).ends(t, code)
	}
	compare := func(name string) {
		t.Helper()
		role, ok := template.Find(name)
		if !ok {
			t.Fatal(name)
		}
		want := slices.Sorted(slices.Values(slices.Concat(role.Items, role.Table)))
		if used, _ := r.used(); !slices.Equal(used, want) {
			t.Errorf("%s: used are %q, allowed are %q", name, used, want)
		}
	}
	must(0, "table", "create", "--tag", "a=b", "--point-in-time-recovery")
	must(0, "table", "create")
	compare("admin")

	must(0, "run", "x", "--", "true")
	useLibrary(t, r.db)
	compare("worker")

	must(0, "status", "x")
	must(0, "ls")
	must(0, "history", "x", "--for", "1s")
	locks := r.client(t)
	locktest.Must(locks.Viewer().Inspect(t.Context(), queuelock.Key{Entity: "x"}))
	for _, err := range locks.Viewer().Queues(t.Context(), queuelock.ScanConfig{}) {
		locktest.OK(t, err)
	}
	compare("observer")

	held := locktest.Must(locks.Acquire(t.Context(), queuelock.Key{Entity: "held"}, waitpolicy.NoWait, queuelock.FailClosed()))
	hung := locktest.Must(locks.Acquire(t.Context(), queuelock.Key{Entity: "hung"}, waitpolicy.NoWait))
	r.crashed(t, "crashed")
	r.used()
	must(0, "evict", "held", "--ticket", held.Ticket().String())
	must(0, "evict", "hung", "--ticket", hung.Ticket().String(), "--force", "--yes")
	must(0, "status", "held")
	must(0, "sweep", "--all")
	if swept, err := locks.Operator().Sweep(t.Context(), queuelock.Key{Entity: "x"}); err != nil || swept != (sweeper.Swept{}) {
		t.Errorf("%+v, %v", swept, err)
	}
	compare("operator")
	for _, lock := range []*queuelock.Lock{held, hung} {
		locktest.Is(t, lock.Release(t.Context()), queuelock.ErrLost)
	}
}

// useLibrary uses each kind of request of the library that a worker may send.
func useLibrary(t *testing.T, db *database) {
	t.Helper()
	locks := locktest.Must(queuelock.New(db, "queuelock", queuelock.Config{}))
	key := queuelock.Key{Entity: "library"}
	first := locktest.Must(locks.Acquire(t.Context(), key, waitpolicy.Forever))
	queued, next := make(chan struct{}, 16), make(chan error, 1)
	go func() {
		lock, err := locks.Acquire(t.Context(), key, waitpolicy.Forever, queuelock.OnProgress(func(queuelock.Progress) { queued <- struct{}{} }))
		if err == nil {
			err = lock.Release(t.Context())
		}
		next <- err
	}()
	<-queued
	condition := first.Condition()
	item := map[string]types.AttributeValue{"pk": text("own"), "sk": text("item")}
	locktest.Must(db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{ConditionCheck: &condition}, {Put: &types.Put{TableName: aws.String("queuelock"), Item: item}},
	}}))
	locktest.Must(locks.IsLocked(t.Context(), key))
	for _, err := range []error{first.Extend(t.Context()), first.SetData(t.Context(), []byte("x")), first.Release(t.Context()), <-next, locks.Close(t.Context())} {
		locktest.OK(t, err)
	}
}

func TestTemplate(t *testing.T) {
	for command, parts := range map[string][]string{
		"template cloudformation --table locks --tag a=b":                         {`TableName: "locks"`, "DeletionPolicy: Retain", "dynamodb:ConditionCheckItem"},
		"template terraform --deletion-protection":                                {`name         = "queuelock"`, "deletion_protection_enabled = true"},
		"template cdk --partition-key p":                                          {`partitionKey: { name: "p"`},
		"template iam --role observer --region eu-north-1 --account 123456789012": {`"arn:aws:dynamodb:eu-north-1:123456789012:table/queuelock"`, `"dynamodb:Query"`},
		"template iam --prefix ci/ --scope table":                                 {`"ci/*"`, `"ticket-master"`},
	} {
		o := invoke(t, strings.Fields(command)...)
		o.silent(t, 0)
		contains(t, o.stdout, parts...)
	}
	for format, form := range map[string]string{"cloudformation": "A queuelock %s ", "terraform": "A queuelock %s ", "cdk": "readonly %s: iam.ManagedPolicy"} {
		printed := invoke(t, "template", format).stdout
		for _, role := range template.Roles {
			if has := strings.Contains(printed, fmt.Sprintf(form, role.Name)); has != (role.Name != "admin") {
				t.Errorf("%s: has a policy for %s: %t", format, role.Name, has)
			}
		}
	}
}

// TestTableCreate checks that create says whether it has created the table, and sets what the flags ask for.
func TestTableCreate(t *testing.T) {
	r := newRecorder(t)
	create := []string{"table", "create", "--deletion-protection", "--point-in-time-recovery", "--tag", "team=ops", "--tag", "empty="}
	invoke(t, create...).prints(t, 0, "table \"queuelock\" is created, and is ready\n")
	_, asked := r.used()
	contains(t, asked, `"DeletionProtectionEnabled":true`, `{"Key":"team","Value":"ops"}`, `{"Key":"empty","Value":""}`,
		"PAY_PER_REQUEST", `"PointInTimeRecoveryEnabled":true`)
	o := invoke(t, create...)
	o.prints(t, 0, "table \"queuelock\" exists already, and is ready\n")
	o.ends(t, 0, "left as they are")
	if _, asked := r.used(); strings.Contains(asked, "Continuous") {
		t.Error("the settings of a table that was there are changed")
	}
	invoke(t, "create-table", "--table", "other").prints(t, 0, "table \"other\" is created, and is ready\n")
}
