package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRelease packs the program of this test, twice, and wants the same bytes, the right
// checksums, the program as it was, and its modules in the list.
func TestRelease(t *testing.T) {
	t.Chdir("../../..")
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	first, second := t.TempDir(), t.TempDir()
	for _, out := range []string{first, second} {
		r := release{out: out, version: "v1.2.3", time: time.Unix(1e9, 0), compile: func(path, system, machine string) error {
			return os.WriteFile(path, self, 0o755)
		}}
		if err := r.all([]string{platform, "windows/amd64"}); err != nil {
			t.Fatal(err)
		}
	}
	sums, err := os.ReadFile(filepath.Join(first, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(filepath.Join(second, "SHA256SUMS")); err != nil || !bytes.Equal(sums, again) {
		t.Errorf("the second build differs: %v\n%s\n%s", err, sums, again)
	}
	names := map[string][]byte{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		data, err := os.ReadFile(filepath.Join(first, name))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(data)) != sum {
			t.Errorf("%s: %v, or another checksum", name, err)
		}
		names[name] = data
	}
	prefix := "queuelock_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH
	if len(names) != 4 || names["queuelock_1.2.3_windows_amd64.zip"] == nil {
		t.Fatalf("%s", sums)
	}
	if got := unpacked(t, names[prefix+".tar.gz"]); !bytes.Equal(got, self) {
		t.Errorf("the program has %d bytes, want %d", len(got), len(self))
	}
	var bom struct{ Components []component }
	if err := json.Unmarshal(names[prefix+".cdx.json"], &bom); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(bom.Components, func(c component) bool { return c.Name == "go" && c.Version == runtime.Version() }) {
		t.Errorf("Go is not in the list: %+v", bom.Components)
	}
}

// unpacked returns the program of an archive.
func unpacked(t *testing.T, archive []byte) (program []byte) {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for r := tar.NewReader(compressed); ; files++ {
		header, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(header.Name) != "queuelock" {
			continue
		}
		if program, err = io.ReadAll(r); err != nil || header.Mode != 0o755 {
			t.Fatalf("%v, mode %o", err, header.Mode)
		}
	}
	if files != 1+len(beside) {
		t.Fatalf("%d files", files)
	}
	return program
}

// TestPlatform checks that a platform in another form is refused.
func TestPlatform(t *testing.T) {
	r := release{out: t.TempDir(), version: "v1", compile: compile}
	if err := r.all([]string{"linux"}); err == nil || !strings.Contains(err.Error(), "linux/amd64") {
		t.Errorf("%v", err)
	}
}
