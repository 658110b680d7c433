package tablefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func open(t testing.TB, path string) *File {
	t.Helper()
	f := locktest.Must(Open(path, true))
	t.Cleanup(func() { f.Close() })
	return f
}

func send(engine http.Handler, operation, body string) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	w := httptest.NewRecorder()
	engine.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func ok(t testing.TB, engine http.Handler, operation, body string) string {
	t.Helper()
	code, text := send(engine, operation, body)
	if code != http.StatusOK {
		t.Fatalf("%s: %d %s", operation, code, text)
	}
	return text
}

const newTable = `{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",
	"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
	"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"}]}`

// copied copies a file while it is open, so that it is as a killed process leaves it.
func copied(t testing.TB, path string) string {
	t.Helper()
	to := path + "+"
	locktest.OK(t, os.WriteFile(to, locktest.Must(os.ReadFile(path)), 0o600))
	return to
}

// early is a planted mistake: it commits after the answer.
type early struct {
	*File
	late uint64
}

func (e *early) Keep(position uint64) error {
	err := e.File.Keep(e.late)
	e.late = position
	return err
}

// difference plays random requests against an engine in memory and one in a file, whose process is
// killed and started again after some answers. It returns the first difference.
func difference(host *testing.T, t *rapid.T, dir string, journal func(*File) embedded.Journal) error {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	path := filepath.Join(dir, "f")
	for _, old := range locktest.Must(filepath.Glob(path + "*")) {
		os.Remove(old)
	}
	file := locktest.Must(Open(path, false))
	defer func() { file.Close() }()
	model := embedded.New(embedded.Config{Now: clock})
	kept := embedded.New(embedded.Config{Now: clock, Journal: journal(file)})
	key := func() string {
		return fmt.Sprintf(`"pk":{"S":"%d"},"sk":{"N":"%d"}`, rapid.IntRange(0, 1).Draw(t, "pk"), rapid.IntRange(0, 2).Draw(t, "sk"))
	}
	value := func() string { return fmt.Sprintf(`{"N":"%d"}`, rapid.IntRange(0, 2).Draw(t, "value")) }
	write := func(kind, key string) string {
		switch kind {
		case "Put":
			return `{"TableName":"tab","Item":{` + key + `,"v":` + value() + `},"ConditionExpression":"attribute_not_exists(v) OR v <> :v","ExpressionAttributeValues":{":v":` + value() + `}}`
		case "Update":
			return `{"TableName":"tab","Key":{` + key + `},"UpdateExpression":"ADD v :v","ExpressionAttributeValues":{":v":` + value() + `}}`
		}
		return `{"TableName":"tab","Key":{` + key + `},"ConditionExpression":"attribute_exists(v)"}`
	}
	both := func(operation, body string) error {
		code, got := send(kept, operation, body)
		wantCode, want := send(model, operation, body)
		if code != wantCode || got != want {
			return fmt.Errorf("%s %s: %d %s, want %d %s", operation, body, code, got, wantCode, want)
		}
		return nil
	}
	if err := both("CreateTable", newTable); err != nil {
		return err
	}
	single := rapid.SampledFrom([]string{"Put", "Update", "Delete"})
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		var err error
		switch step := rapid.IntRange(0, 9).Draw(t, "step"); {
		case step < 4:
			kind := single.Draw(t, "kind")
			err = both(kind+"Item", write(kind, key()))
		case step < 7:
			var entries []string
			used := map[string]bool{}
			for range rapid.IntRange(1, 3).Draw(t, "entries") {
				kind, k := rapid.SampledFrom([]string{"Put", "Update", "Delete", "ConditionCheck"}).Draw(t, "kind"), key()
				if !used[k] {
					used[k], entries = true, append(entries, fmt.Sprintf(`{%q:%s}`, kind, write(kind, k)))
				}
			}
			token := rapid.IntRange(0, 3).Draw(t, "token") // a few, so that they repeat
			err = both("TransactWriteItems", fmt.Sprintf(`{"ClientRequestToken":"t%d","ReturnConsumedCapacity":"TOTAL","TransactItems":[%s]}`, token, strings.Join(entries, ",")))
		case step < 8:
			now = now.Add(time.Duration(rapid.IntRange(0, 8).Draw(t, "minutes")) * time.Minute)
		case step < 9:
			err = both("UpdateTimeToLive", fmt.Sprintf(`{"TableName":"tab","TimeToLiveSpecification":{"AttributeName":"end","Enabled":%t}}`, rapid.Bool().Draw(t, "enabled")))
		default:
			err = errors.Join(both("DeleteTable", `{"TableName":"tab"}`), both("CreateTable", newTable))
		}
		if err != nil {
			return err
		}
		if rapid.IntRange(0, 3).Draw(t, "kill") > 0 {
			continue
		}
		path = copied(host, path)
		locktest.OK(host, file.Close())
		file = locktest.Must(Open(path, false))
		kept = embedded.New(embedded.Config{Now: clock, Journal: journal(file)})
		if err := file.Load(kept.Restore); err != nil {
			return err
		}
		for _, look := range []string{"Scan", "DescribeTable", "DescribeTimeToLive"} {
			if err := both(look, `{"TableName":"tab"}`); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestSame compares an engine that is killed and started again with one that is not.
func TestSame(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		if err := difference(t, r, dir, func(f *File) embedded.Journal { return f }); err != nil {
			r.Fatal(err)
		}
	})
}

// TestEarlyAnswer checks that TestSame finds an engine that answers before the commit.
func TestEarlyAnswer(t *testing.T) {
	dir, found := t.TempDir(), false
	rapid.Check(t, func(r *rapid.T) {
		found = found || difference(t, r, dir, func(f *File) embedded.Journal { return &early{File: f} }) != nil
	})
	if !found {
		t.Error("the mistake was not found")
	}
}

// TestSharedCommit checks that writers that wait at the same time share one commit.
func TestSharedCommit(t *testing.T) {
	f := open(t, filepath.Join(t.TempDir(), "f"))
	engine := embedded.New(embedded.Config{Journal: f})
	ok(t, engine, "CreateTable", newTable)
	commits := func() (n int) {
		locktest.OK(t, f.db.View(func(tx *bbolt.Tx) error { n = tx.ID(); return nil }))
		return n
	}
	before := commits()
	f.committing.Lock() // as if a commit were under way
	var writers sync.WaitGroup
	for n := range 8 {
		writers.Go(func() {
			ok(t, engine, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"N":"%d"}}}`, n))
		})
	}
	for waiting := 0; waiting < 8; time.Sleep(time.Millisecond) {
		f.mu.Lock()
		waiting = len(f.pending)
		f.mu.Unlock()
	}
	f.committing.Unlock()
	writers.Wait()
	if n := commits() - before; n != 1 {
		t.Errorf("%d commits, want 1", n)
	}
}

// TestFullDisk checks that nothing is answered once a commit has failed, and that what was is there.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := open(t, path)
	engine := embedded.New(embedded.Config{Journal: f})
	ok(t, engine, "CreateTable", newTable)
	ok(t, engine, "PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}`)
	f.db.MaxSize = 1 << 15
	large := fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"N":"2"},"v":{"S":%q}}}`, strings.Repeat("x", 1<<17))
	for _, request := range [][2]string{{"PutItem", large}, {"Scan", `{"TableName":"tab"}`}} {
		if code, text := send(engine, request[0], request[1]); code != http.StatusInternalServerError {
			t.Errorf("%s: %d %s", request[0], code, text)
		}
	}
	select {
	case err := <-f.Failed():
		if !strings.HasPrefix(err.Error(), path+" could not be written: ") {
			t.Error(err)
		}
	default:
		t.Error("the failure was not reported")
	}
	again := embedded.New(embedded.Config{})
	locktest.OK(t, open(t, copied(t, path)).Load(again.Restore))
	if n := len(again.Items("tab")); n != 1 {
		t.Errorf("%d items, want 1", n)
	}
}

// TestRefusedFiles checks that a file that cannot be used is named, and left as it is.
func TestRefusedFiles(t *testing.T) {
	dir := t.TempDir()
	ours := filepath.Join(dir, "ours")
	f := open(t, ours)
	engine := embedded.New(embedded.Config{Journal: f})
	ok(t, engine, "CreateTable", newTable)
	for n := range 100 {
		ok(t, engine, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"N":"%d"},"v":{"S":%q}}}`, n, strings.Repeat("x", 1000)))
	}
	locktest.OK(t, f.Close())
	whole := locktest.Must(os.ReadFile(ours))
	with := func(from, to int, b byte) []byte {
		return append(append(bytes.Clone(whole[:from]), bytes.Repeat([]byte{b}, to-from)...), whole[to:]...)
	}
	foreign := func(name string, fill func(*bbolt.Tx) error) []byte {
		path := filepath.Join(dir, name)
		db := locktest.Must(bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true})) // opened for writing, it would change
		locktest.OK(t, db.Update(fill))
		locktest.OK(t, db.Close())
		return locktest.Must(os.ReadFile(path))
	}
	page := os.Getpagesize()
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"text":        {[]byte("some notes\n"), "invalid database"},
		"longer text": {bytes.Repeat([]byte("some notes\n"), 10_000), "invalid database"},
		"short":       {whole[:page+page/2], "damaged"},
		"torn":        {whole[:len(whole)/4], "should have"},
		"no meta":     {with(0, 2*page, 0), "invalid database"},
		"zeroes":      {with(2*page, len(whole), 0), "damaged"},
		"noise":       {with(2*page, len(whole), 0xA5), "damaged"},
		"other":       {foreign("b", func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err }), "another application"},
		"other format": {foreign("c", func(tx *bbolt.Tx) error {
			return errors.Join(create(tx), tx.Bucket(rootName).Put(formatName, []byte("2")))
		}), `format "2"`},
	} {
		path := filepath.Join(dir, name)
		locktest.OK(t, os.WriteFile(path, test.content, 0o600))
		f, err := Open(path, true)
		if err == nil {
			err = f.Load(embedded.New(embedded.Config{}).Restore)
			f.Close()
		}
		if err == nil || !strings.HasPrefix(err.Error(), path+" is damaged, or no file of ") || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", name, err)
		}
		if left := locktest.Must(os.ReadFile(path)); !bytes.Equal(left, test.content) {
			t.Errorf("%s has changed", name)
		}
	}
}

// TestRefusedPaths checks what is said of a path that cannot be used.
func TestRefusedPaths(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir:                             "is a folder",
		filepath.Join(dir, "none", "f"): "its folder is needed first",
		os.DevNull:                      "no regular file",
	} {
		if _, err := Open(path, true); err == nil || !strings.HasPrefix(err.Error(), path+" ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", path, err)
		}
	}
}

// TestInUse checks that a second opening is refused in about a second, and not after the first is closed.
func TestInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := open(t, path)
	begun := time.Now()
	if _, err := Open(path, true); err == nil || err.Error() != path+" is in use by another process" {
		t.Error(err)
	}
	if took := time.Since(begun); took < lockLimit/2 || took > 20*lockLimit {
		t.Errorf("it took %v", took)
	}
	if info := locktest.Must(os.Stat(path)); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	locktest.OK(t, f.Close())
	open(t, path)
}

// TestInterruptedStart checks that a file is taken that an interrupted start has left: empty, or without buckets.
func TestInterruptedStart(t *testing.T) {
	dir := t.TempDir()
	empty, bare := filepath.Join(dir, "empty"), filepath.Join(dir, "bare")
	locktest.OK(t, os.WriteFile(empty, nil, 0o600))
	locktest.OK(t, locktest.Must(bbolt.Open(bare, 0o600, nil)).Close())
	for _, path := range []string{empty, bare} {
		locktest.OK(t, open(t, path).Load(func(entries iter.Seq[embedded.Entry]) error {
			for entry := range entries {
				t.Errorf("%s has %v", path, entry)
			}
			return nil
		}))
	}
}

// BenchmarkPut measures writes over HTTP: in memory, and in a file without and with an fsync for each commit. Its figures
// are those of docs/cli.md.
func BenchmarkPut(b *testing.B) {
	for _, clients := range []int{1, 8} {
		for _, how := range []string{"memory", "no-sync", "sync"} {
			b.Run(fmt.Sprintf("%s/%d", how, clients), func(b *testing.B) {
				var cfg embedded.Config
				if how != "memory" {
					f := locktest.Must(Open(filepath.Join(b.TempDir(), "f"), how == "sync"))
					defer f.Close()
					cfg.Journal = f
				}
				engine := embedded.New(cfg)
				ok(b, engine, "CreateTable", newTable)
				server := httptest.NewServer(engine)
				defer server.Close()
				transport := &http.Transport{MaxIdleConnsPerHost: clients}
				defer transport.CloseIdleConnections()
				var left atomic.Int64
				left.Store(int64(b.N))
				b.ResetTimer()
				var all sync.WaitGroup
				for c := range clients {
					all.Go(func() {
						client := &http.Client{Transport: transport}
						for left.Add(-1) >= 0 {
							body := fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"N":"%d"},"v":{"S":%q}}}`, c, strings.Repeat("x", 300))
							r := locktest.Must(http.NewRequest(http.MethodPost, server.URL, strings.NewReader(body)))
							r.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
							response := locktest.Must(client.Do(r))
							if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
								b.Errorf("status %d, %v", response.StatusCode, err)
							}
							response.Body.Close()
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			})
		}
	}
}

// TestPanicOfACommit checks that nothing counts as kept after a commit in which the store panics.
func TestPanicOfACommit(t *testing.T) {
	f := locktest.Must(Open(filepath.Join(t.TempDir(), "x.db"), true))
	defer f.Close()
	for range 2 {
		of := embedded.Entry{Kind: embedded.ItemEntry, Table: "missing", Key: "k", Value: []byte("v")}
		if err := f.Keep(f.Append([]embedded.Entry{of})); err == nil {
			t.Error("an entry that was not written is kept")
		}
	}
}
