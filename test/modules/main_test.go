// Package modules_test uses the published modules as a user does: in an empty directory, with an empty module cache, by
// the commands of README.md.
//
// TestMain commits the working tree to a repository of its own and sets the tags of a release there. The go command
// fetches these tags and packs each module, by its own rules for licences and nested modules. What it has packed then
// serves as a proxy.
package modules_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	// root is the directory of the library's module.
	root = "../.."

	library = "github.com/queuelock/queuelock"
	command = library + "/cmd/queuelock"
	otel    = library + "/otelqueuelock"
)

var (
	version string   // of all published modules
	proxy   string   // the directory that serves them
	user    []string // the environment of a user's go command
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "modules")
	if err == nil {
		err = publish(dir)
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// publish makes the proxy below dir, which is empty.
func publish(dir string) error {
	var err error
	if version, err = required(); err != nil {
		return err
	}
	repository, published := filepath.Join(dir, "repository"), filepath.Join(dir, "published")
	// The settings and the index of the person who runs this stay out of it.
	own := []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_INDEX_FILE=" + filepath.Join(repository, "index")}
	for _, step := range [][]string{
		{"init", "--quiet"},
		{"add", "--all"},
		{"-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "--message=release"},
		{"update-ref", "refs/tags/" + version, "HEAD"},
		{"update-ref", "refs/tags/cmd/queuelock/" + version, "HEAD"},
		{"update-ref", "refs/tags/otelqueuelock/" + version, "HEAD"},
	} {
		if _, err := output(root, own, "git", slices.Concat([]string{"--git-dir=" + repository, "--work-tree=."}, step)...); err != nil {
			return err
		}
	}

	// With -trimpath the build cache keeps what an earlier run built in another directory.
	settings := []string{"GOWORK=off", "GOFLAGS=-trimpath -modcacherw", "GOVCS=*:git"}
	fetch := append(slices.Clone(settings), "GOMODCACHE="+published, "GONOPROXY="+library, "GONOSUMDB="+library,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://"+repository+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+library)
	if _, err := output(dir, fetch, "go", "mod", "download", library+"@"+version, command+"@"+version, otel+"@"+version); err != nil {
		return err
	}

	// Other modules come from the cache of this machine if it has them. The checksums there have been verified.
	cached, err := output(root, nil, "go", "env", "GOMODCACHE")
	if err != nil {
		return err
	}
	proxies, err := output(root, nil, "go", "env", "GOPROXY")
	if err != nil {
		return err
	}
	proxy = filepath.Join(published, "cache", "download")
	user = append(settings, "GOMODCACHE="+filepath.Join(dir, "cache"), "GOBIN="+filepath.Join(dir, "bin"), "GOSUMDB=off",
		"GONOPROXY=none", "GOPROXY=file://"+proxy+",file://"+filepath.Join(cached, "cache", "download")+","+proxies)
	return nil
}

// required returns the version of the library that the other published modules require: the working tree is to become
// that release.
func required() (string, error) {
	var versions []string
	for _, name := range []string{"cmd/queuelock/go.mod", "otelqueuelock/go.mod"} {
		text, err := output(root, []string{"GOWORK=off"}, "go", "mod", "edit", "-json", name)
		if err != nil {
			return "", err
		}
		var mod struct {
			Require []struct{ Path, Version string }
		}
		if err := json.Unmarshal([]byte(text), &mod); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		for _, m := range mod.Require {
			if m.Path == library {
				versions = append(versions, m.Version)
			}
		}
	}
	if len(versions) != 2 || versions[0] != versions[1] {
		return "", fmt.Errorf("the command and otelqueuelock require %q of the library, want one version", versions)
	}
	return versions[0], nil
}

// output runs a program in dir and returns its standard output. The error has all that the program printed.
func output(dir string, environment []string, program string, arguments ...string) (string, error) {
	var out, all strings.Builder
	c := exec.Command(program, arguments...)
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, append(os.Environ(), environment...), &out, &all
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", program, strings.Join(arguments, " "), err, out.String(), all.String())
	}
	return strings.TrimSpace(out.String()), nil
}
