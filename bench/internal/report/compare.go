package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/queuelock/queuelock/internal/workload/benchmark"
)

// counted are the columns of requests, capacity units and memory, which do not depend on how fast the machine is.
var counted = []string{"requests", "write units", "read units", "memory"}

// differs reports whether two means of what is counted differ by more than chance: a look more or less in a few turns.
func differs(before, now float64) bool { return math.Abs(now-before) > 0.5+0.2*before }

// Compare prints what r has counted beside what before has, and returns how many values differ. Cases that only one of them
// has are left out.
func (r Run) Compare(before Run, w io.Writer) (different int) {
	for _, s := range r.Scenarios {
		for _, variant := range r.cases(s.Name) {
			for _, subject := range r.Subjects {
				for _, c := range s.Columns {
					if !slices.Contains(counted, c.Name) {
						continue
					}
					was, is := before.values(s.Name, variant, subject.Name, of(c.Name)), r.values(s.Name, variant, subject.Name, of(c.Name))
					if len(was) == 0 || len(is) == 0 {
						continue
					}
					mark := ""
					if differs(mean(was), mean(is)) {
						mark = "  <- differs"
						different++
					}
					fmt.Fprintf(w, "%-16s %-28s %-12s %-14s %8.*f %8.*f%s\n",
						s.Name, variant, subject.Name, c.Title, c.Digits, mean(was), c.Digits, mean(is), mark)
				}
			}
		}
	}
	return different
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return m
}

// Complete returns a run that was interrupted without its last case, which may miss repetitions or subjects.
func (r Run) Complete() Run {
	if n := len(r.Results); n > 0 {
		last := r.Results[n-1]
		r.Results = slices.DeleteFunc(slices.Clone(r.Results), func(result benchmark.Result) bool {
			return result.Scenario == last.Scenario && result.Variant == last.Variant
		})
	}
	return r
}
