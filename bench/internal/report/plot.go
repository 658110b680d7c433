package report

import (
	"image/color"
	"math"
	"os"
	"path/filepath"
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

// colours are those of the subjects, in their order. They differ in lightness, too.
var colours = []color.Color{
	color.RGBA{0x00, 0x4e, 0x92, 0xff}, color.RGBA{0xe6, 0x6b, 0x00, 0xff}, color.RGBA{0x6a, 0xa8, 0x4f, 0xff},
	color.RGBA{0xb3, 0x7f, 0xc7, 0xff}, color.RGBA{0x7a, 0x4a, 0x1f, 0xff}, color.RGBA{0x88, 0x88, 0x88, 0xff},
}

// figure is what is drawn of each group of a scenario's variants.
type figure struct {
	name, title, unit string
	columns           []string // added up
}

var figures = []figure{
	{"hand-over", "Hand-over, mean", "ms", []string{"mean"}},
	{"units", "Capacity units", "write and read units a cycle", []string{"write units", "read units"}},
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
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text, p.Y.Label.Text = "contenders", f.unit
	p.Legend.Top, p.Legend.Padding = true, vg.Points(2)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(logTicks)
	var ticks []plot.Tick
	for _, v := range s.Variants(r.Size) {
		if v.Group == group {
			ticks = append(ticks, plot.Tick{Value: math.Log2(v.X), Label: strconv.Itoa(int(v.X))})
		}
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	for i, of := range r.Subjects {
		var points errorPoints
		for _, v := range s.Variants(r.Size) {
			if v.Group != group {
				continue
			}
			if y, low, high, ok := sum(r.Of(s.Name, v.Name, of.Name), f.columns); ok && y > 0 && low > 0 {
				points.XYs = append(points.XYs, plotter.XY{X: math.Log2(v.X), Y: y})
				points.YErrors = append(points.YErrors, struct{ Low, High float64 }{y - low, high - y})
			}
		}
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
		bars.Color = colours[i%len(colours)]
		line.Color, dots.Color = colours[i%len(colours)], colours[i%len(colours)]
		line.Width, dots.Shape, dots.Radius = vg.Points(1.5), draw.CircleGlyph{}, vg.Points(2.5)
		p.Add(line, dots, bars)
		p.Legend.Add(of.Title, line, dots)
	}
	p.X.Max += 0.6*(p.X.Max-p.X.Min) + 1 // room for the legend
	p.X.Min -= 0.3
	p.Y.Min, p.Y.Max = p.Y.Min*0.8, p.Y.Max*1.2
	picture := vgsvg.New(16*vg.Centimeter, 9*vg.Centimeter)
	p.Draw(draw.New(picture))
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := picture.WriteTo(out); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// errorPoints are medians with the least and the greatest value.
type errorPoints struct {
	plotter.XYs
	plotter.YErrors
}

// sum adds columns, and returns the median, the least and the greatest sum.
func sum(results []benchmark.Result, columns []string) (median, least, most float64, ok bool) {
	var sums []float64
	for _, r := range results {
		total, complete := 0.0, true
		for _, name := range columns {
			v, present := r.Values[name]
			total, complete = total+v, complete && present
		}
		if complete {
			sums = append(sums, total)
		}
	}
	if len(sums) == 0 {
		return 0, 0, 0, false
	}
	return stats.Median(sums), slices.Min(sums), slices.Max(sums), true
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
