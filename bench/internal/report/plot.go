package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/queuelock/queuelock/internal/benchmark"
	"github.com/queuelock/queuelock/internal/benchmark/scenario"
	"github.com/queuelock/queuelock/internal/benchmark/stats"
)

// Plot is a picture of the page.
type Plot struct{ Title, Link string }

// look is how a subject is drawn.
type look struct {
	colour color.Color
	marker draw.GlyphDrawer
}

// looks are those of the subjects, in their order. Colours differ in lightness, too.
var looks = []look{
	{color.RGBA{0x00, 0x4e, 0x92, 0xff}, draw.CircleGlyph{}},
	{color.RGBA{0xe6, 0x6b, 0x00, 0xff}, draw.SquareGlyph{}},
	{color.RGBA{0x6a, 0xa8, 0x4f, 0xff}, draw.TriangleGlyph{}},
	{color.RGBA{0xb3, 0x7f, 0xc7, 0xff}, draw.RingGlyph{}},
	{color.RGBA{0x7a, 0x4a, 0x1f, 0xff}, draw.CrossGlyph{}},
	{color.RGBA{0x88, 0x88, 0x88, 0xff}, draw.PlusGlyph{}},
	{color.RGBA{0xc2, 0x18, 0x5b, 0xff}, draw.PyramidGlyph{}},
	{color.RGBA{0x00, 0x96, 0x88, 0xff}, draw.BoxGlyph{}},
}

// figure is what is drawn of each group of a scenario's variants.
type figure struct {
	name, title, axis, column string
	log                       bool
}

var figures = []figure{
	{"hand-over", "Hand-over, mean", "ms, logarithmic", "mean", true},
	{"write-units", "Write units a cycle", "write units, each at the price of five read units", "write units", false},
	{"read-units", "Read units a cycle", "read units", "read units", false},
}

// Plots draws the scenario "contended" into the folder dir, and returns its pictures
// with links that begin with link.
func (r Run) Plots(dir, link string) (map[string][]Plot, error) {
	drawn := map[string][]Plot{}
	for _, s := range r.Scenarios {
		if s.Name != "contended" {
			continue
		}
		for _, f := range figures {
			for _, group := range groups(s.Variants(r.Size)) {
				name := "bench-" + f.name + "-" + strings.ReplaceAll(group, " ", "-") + ".svg"
				title := f.title + ", hold " + group
				if err := r.draw(s, f, group, title, filepath.Join(dir, name)); err != nil {
					return nil, err
				}
				drawn[s.Name] = append(drawn[s.Name], Plot{title, link + "/" + name})
			}
		}
	}
	return drawn, nil
}

func groups(variants []scenario.Variant) []string {
	var names []string
	for _, v := range variants {
		if !slices.Contains(names, v.Group) {
			names = append(names, v.Group)
		}
	}
	return names
}

// draw draws one line for each subject: medians by number of contenders.
func (r Run) draw(s scenario.Scenario, f figure, group, title, file string) error {
	if len(r.Subjects) > len(looks) {
		return fmt.Errorf("%d subjects, and %d looks to draw them in: add one", len(r.Subjects), len(looks))
	}
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Mono"}
	p, legend := plot.New(), plot.NewLegend()
	p.Title.Text = title
	p.X.Label.Text, p.Y.Label.Text = "contenders", f.axis
	legend.Left, legend.Top, legend.Padding, legend.ThumbnailWidth = true, true, vg.Points(3), vg.Points(24)
	var ticks []plot.Tick
	for _, v := range s.Variants(r.Size) {
		if v.Group == group {
			ticks = append(ticks, plot.Tick{Value: math.Log2(v.X), Label: strconv.Itoa(int(v.X))})
		}
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xdd}, color.Gray{0xdd}
	p.Add(grid)
	for i, of := range r.Subjects {
		points := r.points(s, f, group, of.Name)
		if len(points.XYs) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		bars, err := plotter.NewYErrorBars(points)
		if err != nil {
			return err
		}
		line.Color, dots.Color, bars.Color = looks[i].colour, looks[i].colour, looks[i].colour
		line.Width, dots.Shape, dots.Radius = vg.Points(1.5), looks[i].marker, vg.Points(3)
		p.Add(line, dots, bars)
		legend.Add(of.Title, line, dots)
	}
	p.X.Min, p.X.Max = p.X.Min-0.2, p.X.Max+0.2
	p.Y.Min, p.Y.Max = 0, max(1, p.Y.Max*1.05)
	if f.log {
		p.Y.Min, p.Y.Max = logRange(r, s, f, group)
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(logTicks)
	}
	return save(p, legend, file)
}

// save draws the plot at the left, and what its lines are at the right.
func save(p *plot.Plot, legend plot.Legend, file string) error {
	const width, height, right = 25 * vg.Centimeter, 9.5 * vg.Centimeter, 9.5 * vg.Centimeter
	picture := vgsvg.New(width, height)
	canvas := draw.New(picture)
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	p.Draw(draw.Crop(canvas, vg.Points(6), -right, vg.Points(4), -vg.Points(8)))
	legend.Draw(draw.Crop(canvas, width-right+vg.Points(8), 0, 0, -vg.Points(24)))
	var b bytes.Buffer
	if _, err := picture.WriteTo(&b); err != nil {
		return err
	}
	return os.WriteFile(file, typeface.ReplaceAll(b.Bytes(), []byte("font-family:ui-monospace,Menlo,Consolas,monospace")), 0o644)
}

// typeface is that of the plot, which becomes that of the timelines.
var typeface = regexp.MustCompile("font-family:[^;\"]*")

// points returns the results of a subject in a group.
func (r Run) points(s scenario.Scenario, f figure, group, subject string) (points errorPoints) {
	for _, v := range s.Variants(r.Size) {
		if v.Group != group {
			continue
		}
		y, low, high, ok := spread(r.Of(s.Name, v.Name, subject), f.column)
		if ok && (!f.log || low > 0) {
			points.XYs = append(points.XYs, plotter.XY{X: math.Log2(v.X), Y: y})
			points.YErrors = append(points.YErrors, struct{ Low, High float64 }{y - low, high - y})
		}
	}
	return points
}

// logRange returns the range of a logarithmic axis: from tick to tick.
func logRange(r Run, s scenario.Scenario, f figure, group string) (least, most float64) {
	low, high := math.Inf(1), 0.0
	for _, of := range r.Subjects {
		for _, p := range r.points(s, f, group, of.Name).XYs {
			low, high = min(low, p.Y), max(high, p.Y)
		}
	}
	least, most = logTicks[0].Value, logTicks[len(logTicks)-1].Value
	for _, tick := range logTicks {
		if tick.Value <= low {
			least = tick.Value
		}
		if tick.Value >= high {
			most = min(most, tick.Value)
		}
	}
	return least, most
}

// errorPoints are medians with the least and the greatest value.
type errorPoints struct {
	plotter.XYs
	plotter.YErrors
}

// spread returns the median, the least and the greatest value of a column.
func spread(results []benchmark.Result, column string) (median, least, most float64, ok bool) {
	var values []float64
	for _, r := range results {
		if v, present := r.Values[column]; present {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return 0, 0, 0, false
	}
	return stats.Median(values), slices.Min(values), slices.Max(values), true
}

// logTicks are the marks of logarithmic axes.
var logTicks = func() []plot.Tick {
	var ticks []plot.Tick
	for decade := 0.001; decade < 1e6; decade *= 10 {
		for _, n := range []float64{1, 2, 5} {
			ticks = append(ticks, plot.Tick{Value: n * decade, Label: strconv.FormatFloat(n*decade, 'g', 3, 64)})
		}
	}
	return ticks
}()
