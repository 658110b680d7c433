package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
	"github.com/queuelock/queuelock/internal/workload/benchmark/stats"
)

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
	{color.RGBA{0x33, 0x33, 0x33, 0xff}, bar{}},
}

// bar is a marker: a vertical stroke.
type bar struct{}

// DrawGlyph draws the marker.
func (bar) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.StrokeLine2(draw.LineStyle{Color: style.Color, Width: vg.Points(2)}, at.X, at.Y-style.Radius, at.X, at.Y+style.Radius)
}

// figure is a picture: one line for each subject, by number of contenders, with turns of one length.
type figure struct {
	name, what, group, axis string
	value                   value
}

func (f figure) title() string { return f.what + " turns of " + f.group }

// figures are those of the page. All axes are logarithmic: the subjects differ by a factor of ten and more.
var figures = []figure{
	{"hand-over-5-ms", "Mean hand-over in", "5 ms", "ms, log scale", of("mean")},
	{"hand-over-1000-ms", "Mean hand-over in", "1000 ms", "ms, log scale", of("mean")},
	{"price-1000-ms", "Price of a million", "1000 ms", "USD, log scale", price},
}

// price is that of a million cycles on DynamoDB. A write unit costs five read units, so they are not added.
func price(v scenario.Values) (float64, bool) {
	_, ok := v["write units"]
	return v.Cost().Times(1_000_000).Price(), ok
}

// draw returns the picture, and nil if none of it was measured.
func (r Run) draw(f figure) ([]byte, error) {
	if len(r.Subjects) > len(looks) {
		return nil, fmt.Errorf("%d subjects, and %d looks to draw them in: add one", len(r.Subjects), len(looks))
	}
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Mono"}
	p, legends := plot.New(), make([]plot.Legend, 3)
	p.Title.Text = f.title()
	p.X.Label.Text, p.Y.Label.Text = "contenders", f.axis
	for i := range legends {
		legends[i] = plot.NewLegend()
		legends[i].Left, legends[i].Top, legends[i].Padding, legends[i].ThumbnailWidth = true, true, vg.Points(3), vg.Points(24)
	}
	var ticks []plot.Tick
	for _, v := range r.contended() {
		if v.Group == f.group {
			ticks = append(ticks, plot.Tick{Value: math.Log2(v.X), Label: strconv.Itoa(int(v.X))})
		}
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xcc}, color.Gray{0xcc}
	p.Add(grid)
	low, high, drawn := math.Inf(1), 0.0, 0
	for i, subject := range r.Subjects {
		points := r.points(f, subject.Name)
		if len(points.XYs) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		bars, err := plotter.NewYErrorBars(points)
		if err != nil {
			return nil, err
		}
		line.Color, dots.Color, bars.Color = looks[i].colour, looks[i].colour, looks[i].colour
		line.Width, dots.Shape, dots.Radius = vg.Points(1.5), looks[i].marker, vg.Points(3.5)
		p.Add(line, dots)
		if r.Repetitions > 1 {
			p.Add(bars)
		}
		legends[drawn%len(legends)].Add(subject.Title, line, dots)
		drawn++
		for n, at := range points.XYs {
			low, high = min(low, at.Y-points.YErrors[n].Low), max(high, at.Y+points.YErrors[n].High)
		}
	}
	if high == 0 {
		return nil, nil
	}
	p.X.Min, p.X.Max = p.X.Min-0.2, p.X.Max+0.2
	p.Y.Min, p.Y.Max = logRange(low, high)
	outside := func(t plot.Tick) bool { return t.Value < p.Y.Min || t.Value > p.Y.Max } // their labels would need room
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(slices.DeleteFunc(slices.Clone(logTicks), outside))
	return save(p, legends)
}

// save draws the plot, and below it what its lines are, in columns: beside it they would leave a third of the width empty.
func save(p *plot.Plot, legends []plot.Legend) ([]byte, error) {
	const width, height, below = 25 * vg.Centimeter, 10.2 * vg.Centimeter, 1.7 * vg.Centimeter
	picture := vgsvg.New(width, height)
	canvas := draw.New(picture)
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	p.Draw(draw.Crop(canvas, vg.Points(6), -vg.Points(6), below, -vg.Points(8)))
	for i := range legends {
		left := width * vg.Length(i) / vg.Length(len(legends))
		legends[i].Draw(draw.Crop(canvas, left+vg.Points(12), 0, 0, below-height-vg.Points(4)))
	}
	var b bytes.Buffer
	if _, err := picture.WriteTo(&b); err != nil {
		return nil, err
	}
	return typeface.ReplaceAll(b.Bytes(), []byte("font-family:ui-monospace,Menlo,Consolas,monospace")), nil
}

// typeface is that of the plot, which becomes that of the timelines.
var typeface = regexp.MustCompile("font-family:[^;\"]*")

// points returns what a subject has shown. A logarithmic axis has no zero.
func (r Run) points(f figure, subject string) (points errorPoints) {
	for _, v := range r.contended() {
		if v.Group != f.group {
			continue
		}
		values := r.values("contended", v.Name, subject, f.value)
		if len(values) == 0 || slices.Min(values) <= 0 {
			continue
		}
		y := stats.Median(values)
		points.XYs = append(points.XYs, plotter.XY{X: math.Log2(v.X), Y: y})
		points.YErrors = append(points.YErrors, struct{ Low, High float64 }{y - slices.Min(values), slices.Max(values) - y})
	}
	return points
}

// logRange returns the range of a logarithmic axis: from tick to tick.
func logRange(low, high float64) (least, most float64) {
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
