package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/queuelock/queuelock/bench/internal/subject"
	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

const docs = "../../../docs"

// TestPage compares the page and its pictures with the tables beside them.
func TestPage(t *testing.T) {
	files, err := load(t, filepath.Join(docs, Folder)).files()
	ok(t, err)
	if len(files) != 1+len(figures) {
		t.Errorf("%d files, want the page and %d pictures", len(files), len(figures))
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(docs, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not what its tables make of it (%v): run bin/bench --render docs", name, err)
		}
	}
	drawn, err := filepath.Glob(filepath.Join(docs, Folder, "*.svg"))
	if err != nil || len(drawn) != len(figures) {
		t.Errorf("docs/%s has the pictures %v (%v), want %d", Folder, drawn, err, len(figures))
	}
}

// TestSave finds the tables unchanged after they were read and written, and none that is left from another run.
func TestSave(t *testing.T) {
	r, dir := load(t, filepath.Join(docs, Folder)), t.TempDir()
	ok(t, r.Save(dir))
	tables, err := filepath.Glob(filepath.Join(docs, Folder, "*.csv"))
	if err != nil || len(tables) != len(r.Scenarios)+3 {
		t.Fatalf("%d tables (%v) of %d scenarios", len(tables), err, len(r.Scenarios))
	}
	for _, name := range tables {
		want, err := os.ReadFile(name)
		ok(t, err)
		got, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s was changed (%v):\n%s", filepath.Base(name), err, got)
		}
	}
	r.Scenarios = r.Scenarios[:1]
	ok(t, r.Save(dir))
	if left := load(t, dir).Scenarios; len(left) != 1 {
		t.Errorf("tables of %d scenarios are left, want 1", len(left))
	}
}

// TestFailures keeps what failed and what was left out.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	before := Run{Run: benchmark.Run{
		Subjects:  []benchmark.Subject{{Name: "a"}, {Name: "b", Skips: map[string]string{"idle": "it cannot"}}},
		Scenarios: []scenario.Scenario{named("idle")}, Repetitions: 1,
		Results: []benchmark.Result{{Scenario: "idle", Subject: "a", Err: errors.New("broken\nand more"), Values: scenario.Values{"release": 2}}},
	}}
	ok(t, before.Save(dir))
	after := load(t, dir)
	if got := after.Subjects[1].Skips["idle"]; got != "it cannot" {
		t.Errorf("left out: %q", got)
	}
	if len(after.Results) != 1 || after.Results[0].Err == nil || after.Results[0].Err.Error() != "broken" {
		t.Errorf("results: %+v", after.Results)
	}
	if got := after.Results[0].Values; !reflect.DeepEqual(got, before.Results[0].Values) {
		t.Errorf("values %v", got)
	}
}

func TestUnknown(t *testing.T) {
	for _, change := range []struct{ name, from, to string }{
		{"Column", "acquire, ms", "acquire, s"},
		{"Subject", "queuelock", "other"},
		{"Number", "9.1", "9.l"},
	} {
		t.Run(change.name, func(t *testing.T) {
			dir := t.TempDir()
			ok(t, made("idle", "", scenario.Values{"acquire": 9.1}).Save(dir))
			name := filepath.Join(dir, "idle.csv")
			text, _ := os.ReadFile(name)
			ok(t, os.WriteFile(name, bytes.ReplaceAll(text, []byte(change.from), []byte(change.to)), 0o600))
			if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "idle.csv") {
				t.Errorf("it was read: %v", err)
			}
		})
	}
}

// TestSpread checks that figures of fewer than three repetitions have no decimal places, and others a spread.
func TestSpread(t *testing.T) {
	one, two, three := scenario.Values{"mean": 12.34, "overtook": 0.3}, scenario.Values{"mean": 9.96}, scenario.Values{"mean": 30.61}
	for _, test := range []struct {
		run  Run
		want []string
	}{
		{made("contended", "5 ms, 8 contenders", one), []string{"| this library | 12 | < 1 |", "this library took 12 ms on average"}},
		{made("contended", "5 ms, 8 contenders", one, two), []string{"| this library | 11 | < 1 |", "took 10–12 ms on average"}},
		{made("contended", "5 ms, 8 contenders", one, two, three), []string{"| this library | 12.3 (10.0–30.6) | < 1 |", "took 10–31 ms on average"}},
		{made("crash", "lease of 3 s", scenario.Values{"median": 3.04}), []string{"(lease of 3 s) | 3 |"}},
	} {
		for _, want := range test.want {
			if page := folded(test.run); !strings.Contains(page, want) {
				t.Errorf("%d repetitions do not show %q:\n%s", test.run.Repetitions, want, page)
			}
		}
	}
}

// TestManyKeys compares cycles within a repetition, and says how often they were measured if the run was not.
func TestManyKeys(t *testing.T) {
	const few, many = "200 keys, 4 goroutines", "200 keys, 16 goroutines"
	r := made("many-keys", few, scenario.Values{"cycles": 100, "processor": 1}, scenario.Values{"cycles": 200, "processor": 1}, scenario.Values{"cycles": 50, "processor": 1.2})
	r.Subjects = append(r.Subjects, benchmark.Subject{Name: "dynamolock", Title: "another"}, benchmark.Subject{Name: "etcd", Title: "a third"})
	for i, cycles := range []float64{50, 300, 40} {
		r.Results = append(r.Results, benchmark.Result{Scenario: "many-keys", Variant: few, Subject: "dynamolock", Repetition: i, Values: scenario.Values{"cycles": cycles, "processor": 2}})
	}
	r.Results = append(r.Results, benchmark.Result{Scenario: "many-keys", Variant: many, Subject: "dynamolock", Values: scenario.Values{"processor": 3}})
	const rows = "| this library | 1 | 1.00 (1.00–1.20) | – | – | | another | 0.80 (0.50–1.50) | 2.00 | – | 3.00 |"
	alone := folded(r)
	r.Repetitions = 1
	for page, want := range map[string][]string{
		alone:     {"| subject | 200 keys, 4 goroutines: cycles | processor | 200 keys, 16 goroutines: cycles | processor |", rows, "## Load"},
		folded(r): {rows, "Measured by itself, 3 times."},
	} {
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("the page does not show %q:\n%s", text, page)
			}
		}
	}
	if strings.Contains(alone, "by itself") || strings.Contains(alone, "a third") {
		t.Errorf("the page shows what was not measured:\n%s", alone)
	}
}

// TestCompare finds a request more, and does not mind a look more in a few turns, nor times.
func TestCompare(t *testing.T) {
	before := made("idle", "a cycle", scenario.Values{"acquire": 5, "requests": 2, "write units": 2})
	for name, test := range map[string]struct {
		now       scenario.Values
		different int
	}{
		"the same":        {scenario.Values{"acquire": 50, "requests": 2, "write units": 2}, 0},
		"a request more":  {scenario.Values{"acquire": 5, "requests": 3, "write units": 3}, 2},
		"a request less":  {scenario.Values{"acquire": 5, "requests": 1, "write units": 2}, 1},
		"now and then":    {scenario.Values{"acquire": 5, "requests": 2.3, "write units": 2}, 0},
		"not counted now": {scenario.Values{"acquire": 5}, 0},
	} {
		var b strings.Builder
		if n := made("idle", "a cycle", test.now).Compare(before, &b); n != test.different || strings.Count(b.String(), "differs") != n {
			t.Errorf("%s: %d differ, want %d:\n%s", name, n, test.different, &b)
		}
	}
}

// TestComplete leaves out the case in which a run was interrupted.
func TestComplete(t *testing.T) {
	r := made("idle", "a cycle", scenario.Values{"acquire": 5})
	r.Results = append(r.Results, made("crash", "lease of 3 s, 8 locks", scenario.Values{"median": 7}, scenario.Values{"median": 8}).Results...)
	if r = r.Complete(); len(r.Results) != 1 || r.Results[0].Scenario != "idle" || len(r.Complete().Results) != 0 {
		t.Errorf("%v", r.Results)
	}
}

// TestReplace replaces the results of the cases and subjects that were measured again, and no others.
func TestReplace(t *testing.T) {
	before := load(t, filepath.Join(docs, Folder))
	again := made("crash", "lease of 3 s, 8 locks", scenario.Values{"median": 7}, scenario.Values{"median": 8})
	again.Results = append(again.Results, made("idle", "another case", scenario.Values{"acquire": 9}).Results...)
	again.Results[0].Commit = "again"
	again.Subjects = append(again.Subjects, benchmark.Subject{Name: "new"})
	again.Results = append(again.Results, benchmark.Result{Scenario: "idle", Subject: "new"})
	after, dir := before.Replace(again), t.TempDir()
	ok(t, after.Save(dir))
	after = load(t, dir)
	if got := after.values("crash", "lease of 3 s, 8 locks", "queuelock", of("median")); !reflect.DeepEqual(got, []float64{7, 8}) {
		t.Errorf("measured again: %v", got)
	}
	if got := after.values("idle", "another case", "queuelock", of("acquire")); !reflect.DeepEqual(got, []float64{9}) {
		t.Errorf("a new case: %v", got)
	}
	if got := after.Of("crash", "lease of 3 s, 8 locks", "queuelock")[0].Commit; got != "again" || after.Commit != before.Commit {
		t.Errorf("the commit is %q, in a run of %q", got, after.Commit)
	}
	if got, want := len(after.Results), len(before.Results)+3; got != want {
		t.Errorf("%d results, want %d", got, want)
	}
	if len(after.Scenarios) != len(before.Scenarios) || after.Command != before.Command || after.Repetitions != before.Repetitions {
		t.Error("what was not measured again has changed")
	}
}

// TestOverlaps names a lock that had two holders.
func TestOverlaps(t *testing.T) {
	for overlaps, want := range map[float64]string{
		0: "None had two holders at the same time.",
		2: "Two holders at the same time had: this library (5 ms, 8 contenders).",
	} {
		r := made("contended", "5 ms, 8 contenders", scenario.Values{"mean": 12, "overlaps": overlaps})
		if !strings.Contains(folded(r), want) {
			t.Errorf("a run with %v overlaps does not show %q", overlaps, want)
		}
	}
}

// made returns a run of this library alone in one case.
func made(name, variant string, repetitions ...scenario.Values) Run {
	r := Run{Run: benchmark.Run{
		Subjects:  []benchmark.Subject{{Name: "queuelock", Title: "this library"}},
		Scenarios: []scenario.Scenario{named(name)}, Repetitions: len(repetitions),
	}}
	for i, values := range repetitions {
		r.Results = append(r.Results, benchmark.Result{Scenario: name, Variant: variant, Subject: "queuelock", Repetition: i, Values: values})
	}
	return r
}

// folded returns the page with one space for each run of blanks and line ends.
func folded(r Run) string { return strings.Join(strings.Fields(r.page("")), " ") }

// TestPartialRun writes a page of a run of one scenario.
func TestPartialRun(t *testing.T) {
	r := load(t, filepath.Join(docs, Folder))
	for _, s := range r.Scenarios {
		one, dir := r, t.TempDir()
		one.Scenarios = []scenario.Scenario{s}
		if err := errors.Join(one.Save(filepath.Join(dir, Folder)), Render(dir)); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// TestLooks checks that each subject has a colour and a marker of its own.
func TestLooks(t *testing.T) {
	if len(subject.All) > len(looks) {
		t.Fatalf("%d subjects, %d looks", len(subject.All), len(looks))
	}
	for i, a := range looks {
		for _, b := range looks[:i] {
			if a.colour == b.colour || reflect.TypeOf(a.marker) == reflect.TypeOf(b.marker) {
				t.Errorf("two looks are alike: %v and %v", a, b)
			}
		}
	}
}

func load(t *testing.T, dir string) Run {
	t.Helper()
	r, err := Load(dir)
	ok(t, err)
	return r
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPrice(t *testing.T) {
	if got, ok := price(scenario.Values{"write units": 4, "read units": 10}); !ok || got != 4*0.625+10*0.125 {
		t.Errorf("a million turns of 4 write and 10 read units cost %v (%v)", got, ok)
	}
	if _, ok := price(scenario.Values{"mean": 1}); ok {
		t.Error("units that were not counted have a price")
	}
}
