// Command release builds the archives of a release: the command line for six platforms,
// their checksums, and a list of what is in them (SBOM).
//
// The same commit and the same Go give the same bytes: paths are trimmed, cgo is off, and
// the files of an archive have the time of the commit. A tree with uncommitted changes is
// refused, because it could not be built again. Publishing is not its work.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platforms are those that "make cross" checks.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// beside are the files that an archive has beside the program.
var beside = []string{"LICENSE", "README.md", "CHANGELOG.md"}

func main() {
	out := flag.String("out", "bin/release", "the `folder` to write to")
	list := flag.String("platforms", platforms, "the platforms, separated by commas")
	dirty := flag.Bool("dirty", false, "also with uncommitted changes, to try it")
	flag.Parse()
	if err := run(*out, strings.Split(*list, ","), *dirty); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(out string, platforms []string, dirty bool) error {
	version, err := output("git", "describe", "--tags", "--always", "--dirty")
	if err != nil {
		return err
	}
	if strings.HasSuffix(version, "-dirty") && !dirty {
		return fmt.Errorf("there are uncommitted changes: commit them, or try it with -dirty")
	}
	seconds, err := output("git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return err
	}
	r := release{out: out, version: version, time: time.Unix(unix, 0).UTC(), compile: compile}
	return r.all(platforms)
}

// all builds for the platforms, and writes the checksums.
func (r release) all(platforms []string) error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	var sums []string
	for _, platform := range platforms {
		names, err := r.build(platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(r.out, name))
			if err != nil {
				return err
			}
			sums = append(sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name))
			fmt.Printf("%s, %d bytes\n", filepath.Join(r.out, name), len(data))
		}
	}
	slices.SortFunc(sums, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(strings.Join(sums, "")), 0o644)
}

// output is what a command prints, without the space around it.
func output(name string, args ...string) (string, error) {
	text, err := exec.Command(name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return strings.TrimSpace(string(text)), nil
}

// release is one release.
type release struct {
	out, version string
	time         time.Time // of the commit
	compile      func(path, system, machine string) error
}

// compile builds the program for a platform.
func compile(path, system, machine string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", path, "./cmd/queuelock")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

// file is a file of an archive.
type file struct {
	name string
	mode int64
	data []byte
}

// build builds for a platform, and returns the names of the archive and its SBOM.
func (r release) build(platform string) ([]string, error) {
	system, machine, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("need a system and a machine, such as linux/amd64")
	}
	program := "queuelock"
	if system == "windows" {
		program += ".exe"
	}
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, program)
	if err := r.compile(path, system, machine); err != nil {
		return nil, err
	}
	files := []file{{name: program, mode: 0o755}}
	if files[0].data, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	for _, name := range beside {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, 0o644, data})
	}
	name := fmt.Sprintf("queuelock_%s_%s_%s", strings.TrimPrefix(r.version, "v"), system, machine)
	archive, pack := name+".tar.gz", r.tarball
	if system == "windows" {
		archive, pack = name+".zip", r.zip
	}
	var packed bytes.Buffer
	if err := pack(&packed, name, files); err != nil {
		return nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(files[0].data))
	if err != nil {
		return nil, err
	}
	bom, err := json.MarshalIndent(r.sbom(info), "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(r.out, archive), packed.Bytes(), 0o644); err != nil {
		return nil, err
	}
	return []string{archive, name + ".cdx.json"}, os.WriteFile(filepath.Join(r.out, name+".cdx.json"), append(bom, '\n'), 0o644)
}

// tarball writes a .tar.gz with one folder.
func (r release) tarball(out io.Writer, folder string, files []file) error {
	compressed := gzip.NewWriter(out)
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Name: folder + "/" + f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: r.time, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.data); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

// zip writes a .zip with one folder.
func (r release) zip(out io.Writer, folder string, files []file) error {
	archive := zip.NewWriter(out)
	for _, f := range files {
		header := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: r.time}
		header.SetMode(os.FileMode(f.mode))
		w, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// component is a module in the list, in the form of CycloneDX.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

// sbom lists the modules that are linked into the program.
// https://cyclonedx.org/docs/1.5/json/
func (r release) sbom(info *debug.BuildInfo) any {
	list := []component{}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version})
	}
	slices.SortFunc(list, func(a, b component) int { return strings.Compare(a.Name, b.Name) })
	return map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{
			"timestamp": r.time.Format(time.RFC3339),
			"component": component{"application", "queuelock", r.version, "pkg:golang/" + info.Main.Path + "@" + r.version},
		},
		"components": append(list, component{"platform", "go", info.GoVersion, "pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go")}),
	}
}
