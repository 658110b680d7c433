package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/demo/timeline"
)

// pictureFlags are the flags of commands that draw a timeline.
type pictureFlags struct{ svg, html string }

func (f *pictureFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.svg, "svg", "", "draw the timeline into this `FILE` as SVG")
	offer(cmd, "svg", offerFiles)
	flags.StringVar(&f.html, "html", "", "write one HTML page with the timeline and all turns into this `FILE`")
	offer(cmd, "html", offerFiles)
}

// pictureFiles are open before there is something to draw, so that a wrong name costs no
// observation.
type pictureFiles []pictureFile

type pictureFile struct {
	file *os.File
	draw func(timeline.Chart, io.Writer) error
}

func (f *pictureFlags) open() (files pictureFiles, err error) {
	for _, p := range []struct {
		flag, name string
		draw       func(timeline.Chart, io.Writer) error
	}{{"--svg", f.svg, timeline.Chart.SVG}, {"--html", f.html, timeline.Chart.HTML}} {
		if p.name == "" {
			continue
		}
		file, err := os.OpenFile(p.name, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			files.close()
			return nil, usagef("%s: %w: name a file that can be written", p.flag, err)
		}
		files = append(files, pictureFile{file, p.draw})
	}
	return files, nil
}

func (f pictureFiles) report(out io.Writer) {
	for _, p := range f {
		fmt.Fprintln(out, "queuelock: wrote", p.file.Name())
	}
}

func (f pictureFiles) write(chart timeline.Chart) error {
	for _, p := range f {
		if err := p.file.Truncate(0); err != nil {
			return fmt.Errorf("the picture: %w", err)
		}
		if err := p.draw(chart, p.file); err != nil {
			return fmt.Errorf("the picture: %w", err)
		}
	}
	return nil
}

func (f pictureFiles) close() {
	for _, p := range f {
		_ = p.file.Close() // write has reported what was not written
	}
}

// isUTF8 reports whether the locale can show more than ASCII.
func isUTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToUpper(os.Getenv(name)); value != "" {
			return strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8")
		}
	}
	return false
}
