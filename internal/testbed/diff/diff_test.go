package diff_test

import (
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/diff"
)

type inner struct{ A, B int }

// TestOf checks that equal values have no difference, and that others show where they differ.
func TestOf(t *testing.T) {
	want := map[string]any{"x": &inner{1, 2}, "y": []string{"a", "b"}, "z": time.Second}
	if d := diff.Of(want, map[string]any{"x": &inner{1, 2}, "y": []string{"a", "b"}, "z": time.Second}); d != "" {
		t.Errorf("equal values differ:\n%s", d)
	}
	got := map[string]any{"x": &inner{1, 3}, "y": []string{"b"}, "z": time.Second}
	const text = `  map[string]interface {}{
    x: &diff_test.inner{
      A: 1
-     B: 2
+     B: 3
    }
    y: []string{
-     "a"
      "b"
    }
    z: 1s
  }
`
	if d := diff.Of(want, got); d != text {
		t.Errorf("got:\n%s\nwant:\n%s", d, text)
	}
	for _, pair := range [][2]any{{[]int(nil), []int{}}, {1, int64(1)}, {nil, 0}, {time.Time{}, time.UnixMilli(1)}} {
		if diff.Of(pair[0], pair[1]) == "" {
			t.Errorf("%#v and %#v are the same", pair[0], pair[1])
		}
	}
}
