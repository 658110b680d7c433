package timeline

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// chart has each kind, and texts that another program may have chosen.
func chart() Chart {
	ms := time.Millisecond
	return Chart{
		Title: `"a" <b> & c`, Length: 1000 * ms,
		Rows: []Row{
			{Name: "</text><script>alert(1)</script>", Bars: []Bar{{Kind: Holding, From: 0, To: 400 * ms, Label: "<1>"}, {Kind: Killed, From: 400 * ms, To: 400 * ms}}},
			{Name: "b", Bars: []Bar{{Kind: Waiting, From: 100 * ms, To: 500 * ms}, {Kind: Holding, From: 500 * ms, To: 800 * ms}, {Kind: Expired, From: 800 * ms, To: 1000 * ms}}},
		},
		Facts: []Fact{{"turns", "<2>"}, {Name: "all went well"}}, Columns: []string{"ticket"}, Table: [][]string{{"<7>"}},
	}
}

// TestSVG checks that the picture is well-formed, that bars are where they belong, and
// that no text of another program is a part of it.
func TestSVG(t *testing.T) {
	var b strings.Builder
	locktest.OK(t, chart().SVG(&b))
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		if element, ok := token.(xml.StartElement); ok && element.Name.Local == "script" {
			t.Error("a name is a script")
		}
	}
	bars := regexp.MustCompile(`<rect class="(\w+)" x="([\d.]+)" y="\d+" width="([\d.]+)" height="\d+"><title>`).FindAllStringSubmatch(b.String(), -1)
	want := [][3]string{{"holding", "170.0", "308.0"}, {"waiting", "247.0", "308.0"}, {"holding", "555.0", "231.0"}, {"expired", "786.0", "154.0"}}
	if len(bars) != len(want) {
		t.Fatalf("%d bars:\n%s", len(bars), b.String())
	}
	for i, bar := range bars {
		if [3]string(bar[1:]) != want[i] {
			t.Errorf("bar %d is %v, want %v", i, bar[1:], want[i])
		}
	}
}

// TestAxis checks that a chart that began at a known time shows the time of day.
func TestAxis(t *testing.T) {
	for _, began := range []time.Time{{}, time.Date(2026, 3, 1, 12, 0, 59, 5e8, time.UTC)} {
		c := chart()
		c.Began = began
		var b strings.Builder
		locktest.OK(t, c.SVG(&b))
		want := !began.IsZero()
		for _, part := range []string{">12:00:59.5</text>", ">12:01:00.3</text>", ">UTC</text>"} {
			if strings.Contains(b.String(), part) != want {
				t.Errorf("began at %v: %s is shown: %v", began, part, !want)
			}
		}
	}
}

// TestLapsing checks that the lease of a lost holder is drawn and explained.
func TestLapsing(t *testing.T) {
	c := Chart{Title: "x", Length: time.Second, Rows: []Row{{Name: "a", Bars: []Bar{{Kind: Lapsing, To: time.Second, Label: "ticket 1"}}}}}
	var b strings.Builder
	locktest.OK(t, c.SVG(&b))
	for _, part := range []string{`<pattern id="lapsing"`, `<rect class="lapsing"`, "lease of a lost holder</text>", "<title>ticket 1</title>"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("no %s in\n%s", part, b.String())
		}
	}
	if text := c.Text(false); !strings.Contains(text, "- lease of a lost holder") || !strings.Contains(text, "|---") {
		t.Errorf("%s", text)
	}
}

// TestHTML checks that a page has everything, escaped, and refers to nothing else.
func TestHTML(t *testing.T) {
	var b strings.Builder
	locktest.OK(t, chart().HTML(&b))
	page := b.String()
	for _, part := range []string{"<!DOCTYPE html>", "&lt;2&gt;", "&lt;7&gt;", "<p>all went well</p>", "<svg ", "</html>"} {
		if !strings.Contains(page, part) {
			t.Errorf("no %s in the page", part)
		}
	}
	for _, part := range []string{"<script", "<2>", "<7>", "src=", "href=", "url(h", "url(\"", "<td>all went well", "class=\"title\""} {
		if strings.Contains(page, part) {
			t.Errorf("%s is in the page", part)
		}
	}
}

func TestText(t *testing.T) {
	c := chart()
	c.Rows[0].Name = "a"
	want := `# holding  . waiting  x lease over, not removed yet  X killed while holding

a         |##################################X                                                 |
b         |        ..................................#########################xxxxxxxxxxxxxxxxx|
           0 s                one column is 12 ms; turns within one share it              1.0 s
`
	if got := c.Text(false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if text := (Chart{}).Text(true); text != "" {
		t.Errorf("nothing is drawn as %q", text)
	}
}

// TestTick checks that a grid has at most ten steps, of round times.
func TestTick(t *testing.T) {
	for length, want := range map[time.Duration]time.Duration{
		time.Second: 100 * time.Millisecond, 14 * time.Second: 2 * time.Second, 5 * time.Minute: 30 * time.Second,
		time.Hour: 10 * time.Minute, 100 * time.Hour: 11 * time.Hour,
	} {
		if got := tick(length); got != want {
			t.Errorf("tick of %v is %v, want %v", length, got, want)
		}
	}
}

func TestLabel(t *testing.T) {
	for at, want := range map[time.Duration]string{
		0: "0 s", 2500 * time.Millisecond: "2.5 s", time.Minute: "1m", 90 * time.Second: "1m30s", 2 * time.Hour: "2h", 70 * time.Minute: "1h10m",
	} {
		if got := label(at); got != want {
			t.Errorf("%v is %q, want %q", at, got, want)
		}
	}
}
