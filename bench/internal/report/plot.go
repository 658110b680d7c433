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
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/queuelock/queuelock/bench/internal/scenario"
	"github.com/queuelock/queuelock/bench/internal/stats"
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
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text, p.Y.Label.Text = "contenders", f.unit
	p.Legend.Top, p.Legend.Left = true, true
	p.Y.Min = 0
	var ticks []plot.Tick
	for _, v := range s.Variants(r.Size) {
		if v.Group == group {
			ticks = append(ticks, plot.Tick{Value: math.Log2(v.X), Label: strconv.Itoa(int(v.X))})
		}
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	for i, of := range r.Subjects {
		var points plotter.XYs
		for _, v := range s.Variants(r.Size) {
			if v.Group != group {
				continue
			}
			if y, ok := sum(r.of(s.Name, v.Name, of.Name), f.columns); ok {
				points = append(points, plotter.XY{X: math.Log2(v.X), Y: y})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, dots.Color = colours[i%len(colours)], colours[i%len(colours)]
		line.Width, dots.Shape, dots.Radius = vg.Points(1.5), draw.CircleGlyph{}, vg.Points(2.5)
		p.Add(line, dots)
		p.Legend.Add(of.Title, line, dots)
	}
	p.X.Min, p.X.Max = p.X.Min-0.3, p.X.Max+0.3
	p.Y.Max *= 1.5 // room for the legend
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

// sum adds the medians of columns.
func sum(results []Result, columns []string) (float64, bool) {
	total := 0.0
	for _, name := range columns {
		values := column(results, name)
		if len(values) == 0 {
			return 0, false
		}
		total += stats.Median(values)
	}
	return total, true
}
