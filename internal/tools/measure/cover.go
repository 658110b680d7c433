package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime/coverage"
	"slices"
	"strings"
)

// turnTo plays a turn in a program that counts the statements that run, and writes the counts of the turn to a
// directory.
func turnTo(ctx context.Context, dir string) error {
	var cleared error
	if _, err := turn(ctx, func() { cleared = coverage.ClearCounters() }); err != nil {
		return err
	}
	if cleared != nil {
		return cleared
	}
	if err := coverage.WriteMetaDir(dir); err != nil {
		return err
	}
	return coverage.WriteCountersDir(dir)
}

// turnFiles returns the files of the library in which a statement runs in a turn, those of each package.
func turnFiles(ctx context.Context, sources []source) (files []count, err error) {
	dir, err := os.MkdirTemp("", "measure")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	atEnd, profile := filepath.Join(dir, "end"), filepath.Join(dir, "profile")
	if err := os.Mkdir(atEnd, 0o700); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"run", "-cover", "-covermode=atomic", "-coverpkg=" + module + "/...", "./internal/tools/measure", "-turn", dir},
		{"tool", "covdata", "textfmt", "-i=" + dir, "-o=" + profile},
	} {
		c := exec.CommandContext(ctx, "go", args...)
		c.Env = append(os.Environ(), "GOCOVERDIR="+atEnd) // of the whole run, which does not count
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, out)
		}
	}
	text, err := fs.ReadFile(os.DirFS(dir), "profile")
	if err != nil {
		return nil, err
	}
	return ranIn(string(text), sources), nil
}

// ranIn returns how many files of each package of the library ran, as a profile shows them.
func ranIn(profile string, sources []source) (files []count) {
	seen := map[string]bool{}
	for line := range strings.Lines(profile) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, module+"/"), ":")
		library := slices.ContainsFunc(sources, func(s source) bool { return s.name == name && s.inLibrary() })
		if strings.HasSuffix(line, " 0\n") || seen[name] || !library {
			continue
		}
		seen[name] = true
		files = tally(files, path.Dir(name), 1)
	}
	return files
}
