package timeline

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Sizes of the picture, in pixels.
const (
	width       = 960
	nameWidth   = 170
	rowHeight   = 22
	titleHeight = 24 // of the height above the rows, for the title
	top         = 58
	bottom      = 30
	clock       = 16 // for the time of day
	plot        = width - nameWidth - 20
	maxNote     = 29 // letters of 9 pixels
)

// style has both schemes, because a page shows the picture on its own background.
//
//go:embed picture.css
var style string

var classes = [kinds]string{"waiting", "holding", "lapsing", "expired", "killed"}

// hatch is the pattern of a lease that its holder does not renew.
const hatch = `<defs><pattern id="lapsing" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
	`<line class="hatch" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>` + "\n"

// SVG writes the picture.
func (c Chart) SVG(w io.Writer) error {
	_, err := io.WriteString(w, c.picture(titleHeight))
	return err
}

// picture draws the timeline, with so much height for the title.
func (c Chart) picture(heading int) string {
	var b strings.Builder
	height := top + len(c.Rows)*rowHeight + bottom
	if !c.Began.IsZero() {
		height += clock
	}
	above := titleHeight - heading
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 %d %d %d" role="img">`+"\n", width, height-above, above, width, height-above)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>\n%s</style>\n", html.EscapeString(c.Title), style)
	if c.used(c.visible)[Lapsing] {
		b.WriteString(hatch)
	}
	if heading > 0 {
		fmt.Fprintf(&b, `<text class="title" x="8" y="20">%s</text>`+"\n", html.EscapeString(c.Title))
	}
	c.legend(&b)
	c.grid(&b)
	for i, row := range c.Rows {
		y := top + i*rowHeight
		base := y + 15
		if row.Note != "" {
			base = y + 10
			fmt.Fprintf(&b, `<text class="note" x="8" y="%d">%s<title>%s</title></text>`+"\n",
				y+19, html.EscapeString(ansi.Truncate(row.Note, maxNote, "…")), html.EscapeString(row.Note))
		}
		fmt.Fprintf(&b, `<text x="8" y="%d">%s</text>`+"\n", base, html.EscapeString(ansi.Truncate(row.Name, maxName-2, "…")))
		for kind := range kinds {
			for _, bar := range row.Bars {
				if bar.Kind == kind && c.visible(bar) {
					c.bar(&b, bar, y)
				}
			}
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (c Chart) legend(b *strings.Builder) {
	x, used := 8, c.used(c.visible)
	for _, kind := range legend {
		if !used[kind] {
			continue
		}
		if kind == Killed {
			cross(b, float64(x+6), 36)
			b.WriteString("\n")
		} else {
			fmt.Fprintf(b, `<rect class="%s" x="%d" y="30" width="12" height="12"/>`+"\n", classes[kind], x)
		}
		fmt.Fprintf(b, `<text x="%d" y="40">%s</text>`+"\n", x+18, names[kind])
		x += 18 + 8*len(names[kind]) + 16
	}
}

// visible reports whether a picture shows a bar. A turn is drawn however short it is; the end of its lease is not, as a line
// of a pixel would only be a riddle in the legend.
func (c Chart) visible(bar Bar) bool {
	return bar.Kind != Lapsing && bar.Kind != Expired || c.x(bar.To)-c.x(bar.From) >= 1
}

func (c Chart) grid(b *strings.Builder) {
	step := tick(c.Length)
	y := top + len(c.Rows)*rowHeight + bottom
	format := "15:04:05"
	if step < time.Second {
		format = "15:04:05.0"
	}
	for i, at := 0, time.Duration(0); at <= c.Length && step > 0; i, at = i+1, at+step {
		x := c.x(at)
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`+"\n", x, top-6, x, y-bottom+4)
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x, y-10, label(at))
		if !c.Began.IsZero() && i%2 == 0 && x < width-40 { // each second one has room for it
			fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x, y+clock-10, c.Began.Add(at).UTC().Format(format))
		}
	}
	if !c.Began.IsZero() {
		fmt.Fprintf(b, `<text x="8" y="%d">UTC</text>`+"\n", y+clock-10)
	}
}

func (c Chart) x(at time.Duration) float64 {
	return nameWidth + plot*float64(min(max(at, 0), c.Length))/float64(max(c.Length, 1))
}

func (c Chart) bar(b *strings.Builder, bar Bar, y int) {
	from, to := c.x(bar.From), c.x(bar.To)
	title := html.EscapeString(bar.Label)
	if bar.Kind == Killed {
		b.WriteString("<g>")
		cross(b, from, float64(y+11))
		fmt.Fprintf(b, "<title>%s</title></g>\n", title)
		return
	}
	h := 14
	if bar.Kind == Waiting {
		h = 6
	}
	fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"><title>%s</title></rect>`+"\n",
		classes[bar.Kind], from, y+11-h/2, max(1.2, to-from), h, title)
}

func cross(b *strings.Builder, x, y float64) {
	fmt.Fprintf(b, `<path class="killed" d="M%.1f %.1fl10 10m0 -10l-10 10"/>`, x-5, y-5)
}

// tick returns the step of the grid: a round time, at most ten of them.
func tick(length time.Duration) time.Duration {
	const ms, s, m = time.Millisecond, time.Second, time.Minute
	for _, step := range []time.Duration{
		ms, 2 * ms, 5 * ms, 10 * ms, 20 * ms, 50 * ms, 100 * ms, 200 * ms, 500 * ms,
		s, 2 * s, 5 * s, 10 * s, 15 * s, 30 * s, m, 2 * m, 5 * m, 10 * m, 15 * m, 30 * m, time.Hour,
	} {
		if length <= 10*step {
			return step
		}
	}
	return (length / 10).Round(time.Hour) + time.Hour
}

// label prints a time of the grid: 2.5 s, 1m30s, 2h, 1h10m.
func label(at time.Duration) string {
	if at < time.Minute {
		return strconv.FormatFloat(at.Seconds(), 'g', 4, 64) + " s"
	}
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(at.String())
}

//go:embed page.html.tmpl
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// HTML writes a page with the facts, the picture and the table.
func (c Chart) HTML(w io.Writer) error {
	return page.Execute(w, struct {
		Chart
		Picture string
	}{c, c.picture(0)})
}
