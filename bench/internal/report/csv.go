package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// The tables beside those of the scenarios.
const (
	runTable      = "run"
	bareTable     = "bare"
	subjectsTable = "subjects"
)

// Notes of rows without values.
const (
	leftOut = "left out: "
	failure = "failed: "
)

// fact is a row of run.csv: a pointer to a field.
type fact struct {
	name  string
	field any
}

func (r *Run) facts() []fact {
	return []fact{
		{"command", &r.Command}, {"commit", &r.Commit}, {"engine", &r.Engine}, {"round trip that proxies add", &r.RoundTrip},
		{"cores", &r.Machine.Cores}, {"platform", &r.Machine.Platform}, {"go", &r.Machine.Go}, {"date", &r.Machine.Date},
		{"repetitions", &r.Repetitions}, {"calls that count as simultaneous", &r.Slack}, {"note", &r.Note},
	}
}

func (f fact) text() string {
	switch v := f.field.(type) {
	case *string:
		return *v
	case *int:
		return strconv.Itoa(*v)
	case *time.Duration:
		return v.Round(time.Millisecond).String()
	case *time.Time:
		return v.Format(time.DateOnly)
	}
	panic(fmt.Sprintf("%s is a %T", f.name, f.field))
}

func (f fact) parse(text string) (err error) {
	switch v := f.field.(type) {
	case *string:
		*v = text
	case *int:
		*v, err = strconv.Atoi(text)
	case *time.Duration:
		*v, err = time.ParseDuration(text)
	case *time.Time:
		*v, err = time.Parse(time.DateOnly, text)
	}
	return err
}

// Save writes the tables to the folder dir, and removes those of scenarios that were not measured.
func (r Run) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	run := [][]string{{"what", "value"}}
	for _, f := range r.facts() {
		run = append(run, []string{f.name, f.text()})
	}
	bare := [][]string{{"commit", "request", "mean, ms", "p99, ms"}}
	for _, b := range r.Bare {
		bare = append(bare, []string{r.Commit, b.What, number(b.Mean, 1), number(b.P99, 1)})
	}
	subjects := [][]string{{"commit", "name", "title", "configuration"}}
	for _, s := range r.Subjects {
		subjects = append(subjects, []string{r.Commit, s.Name, s.Title, s.Config})
	}
	tables := map[string][][]string{runTable: run, bareTable: bare, subjectsTable: subjects}
	for _, s := range r.Scenarios {
		tables[s.Name] = r.table(s)
	}
	for _, s := range scenario.All {
		if tables[s.Name] == nil {
			if err := os.Remove(filepath.Join(dir, s.Name+".csv")); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	for name, rows := range tables {
		if err := write(filepath.Join(dir, name+".csv"), rows); err != nil {
			return err
		}
	}
	return nil
}

func number(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }

func write(name string, rows [][]string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(file).WriteAll(rows), file.Close())
}

func header(s scenario.Scenario) []string {
	titles := []string{"commit", "case", "subject", "repetition"}
	for _, c := range s.Columns {
		titles = append(titles, c.Title)
	}
	return append(titles, "note")
}

// table returns the rows of a scenario: one for each measurement, and one for each subject that was left out.
func (r Run) table(s scenario.Scenario) [][]string {
	rows := [][]string{header(s)}
	for _, result := range r.Results {
		if result.Scenario != s.Name {
			continue
		}
		row := []string{result.Commit, result.Variant, result.Subject, strconv.Itoa(result.Repetition + 1)}
		for _, c := range s.Columns {
			text := ""
			if v, ok := result.Values[c.Name]; ok && !math.IsNaN(v) {
				text = number(v, c.Digits)
			}
			row = append(row, text)
		}
		note := ""
		if result.Err != nil {
			first, _, _ := strings.Cut(result.Err.Error(), "\n")
			note = failure + first
		}
		rows = append(rows, append(row, note))
	}
	for _, subject := range r.Subjects {
		if why := subject.Skips[s.Name]; why != "" {
			row := append([]string{r.Commit, "", subject.Name}, make([]string, len(s.Columns)+1)...)
			rows = append(rows, append(row, leftOut+why))
		}
	}
	return rows
}

// Load reads what Save has written to the folder dir.
func Load(dir string) (Run, error) {
	var r Run
	facts, err := read(dir, runTable, nil)
	if err != nil {
		return r, err
	}
	texts := map[string]string{}
	for _, row := range facts {
		texts[row[0]] = row[1]
	}
	for _, f := range r.facts() {
		if err := f.parse(texts[f.name]); err != nil {
			return r, fmt.Errorf("%s in %s.csv: %w", f.name, runTable, err)
		}
	}
	bare, err := read(dir, bareTable, nil)
	if err != nil {
		return r, err
	}
	for _, row := range bare {
		b := benchmark.Bare{What: row[1]}
		var wrong [2]error
		b.Mean, wrong[0] = strconv.ParseFloat(row[2], 64)
		b.P99, wrong[1] = strconv.ParseFloat(row[3], 64)
		if err := errors.Join(wrong[:]...); err != nil {
			return r, err
		}
		r.Bare = append(r.Bare, b)
	}
	subjects, err := read(dir, subjectsTable, nil)
	if err != nil {
		return r, err
	}
	for _, row := range subjects {
		r.Subjects = append(r.Subjects, benchmark.Subject{Name: row[1], Title: row[2], Config: row[3], Skips: map[string]string{}})
	}
	for _, s := range scenario.All {
		rows, err := read(dir, s.Name, header(s))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return r, err
		}
		r.Scenarios = append(r.Scenarios, s)
		for _, row := range rows {
			if err := r.add(s, row); err != nil {
				return r, fmt.Errorf("%s.csv: %w", s.Name, err)
			}
		}
	}
	return r, nil
}

// read returns the rows of a table after its header, which must be the given one unless that is nil.
func read(dir, name string, header []string) ([][]string, error) {
	file, err := os.Open(filepath.Join(dir, name+".csv"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s.csv: %w", name, err)
	case len(rows) == 0:
		return nil, fmt.Errorf("%s.csv is empty", name)
	case header != nil && !slices.Equal(rows[0], header):
		return nil, fmt.Errorf("%s.csv has the columns %q, and not %q", name, rows[0], header)
	}
	return rows[1:], nil
}

// add adds a row of the table of a scenario.
func (r *Run) add(s scenario.Scenario, row []string) error {
	commit, variant, subject, note := row[0], row[1], row[2], row[len(row)-1]
	at := slices.IndexFunc(r.Subjects, func(of benchmark.Subject) bool { return of.Name == subject })
	if at < 0 {
		return fmt.Errorf("there is no subject %q", subject)
	}
	if why, ok := strings.CutPrefix(note, leftOut); ok {
		r.Subjects[at].Skips[s.Name] = why
		return nil
	}
	result := benchmark.Result{Commit: commit, Scenario: s.Name, Variant: variant, Subject: subject, Values: scenario.Values{}}
	repetition, err := strconv.Atoi(row[3])
	if err != nil {
		return err
	}
	result.Repetition = repetition - 1
	if why, ok := strings.CutPrefix(note, failure); ok {
		result.Err = errors.New(why)
	}
	for i, c := range s.Columns {
		if text := row[4+i]; text != "" {
			if result.Values[c.Name], err = strconv.ParseFloat(text, 64); err != nil {
				return err
			}
		}
	}
	r.Results = append(r.Results, result)
	return nil
}
