package main

import (
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestCompletion checks that each shell has a script, and that bash takes its own.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		invoke(t, "completion", shell).matches(t, 0, "queuelock", "")
	}
	check := exec.Command("bash", "-n")
	check.Stdin = strings.NewReader(invoke(t, "completion", "bash").stdout)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestCompletions(t *testing.T) {
	for line, want := range map[string]string{
		"sta":                "status\t",
		"run --lock":         "--lock-delay",
		"completion ":        "zsh",
		"template ":          "terraform\n",
		"bench --scenarios ": "crash\n",
		"run x --ttl ":       ":4\n", // no files
		"history x --svg ":   ":0\n",
		"unlock ":            ":0\n",
		"check ":             ":0\n",
		"run x -- sta":       ":0\n",
	} {
		o := invoke(t, append([]string{"__complete"}, strings.Split(line, " ")...)...)
		if !strings.Contains(o.stdout, want) || strings.HasPrefix(want, ":") && o.stdout != want {
			t.Errorf("%s: %q, want %q", line, o.stdout, want)
		}
	}
}

// TestFlagValues checks that completion knows the values of each flag whose help lists them.
func TestFlagValues(t *testing.T) {
	list := regexp.MustCompile(`: ((?:[a-z]+, )*)([a-z]+) or ([a-z]+)$`)
	names := make(map[string]bool)
	eachCommand(func(words []string, cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			found := list.FindStringSubmatch(flag.Usage)
			if found == nil {
				return
			}
			names[flag.Name] = true
			args := append(append([]string{"__complete"}, words...), "--"+flag.Name, "")
			want := strings.ReplaceAll(found[1], ", ", "\n") + found[2] + "\n" + found[3] + "\n:4\n"
			if o := invoke(t, args...); o.stdout != want {
				t.Errorf("%v: %q, want %q", args, o.stdout, want)
			}
		})
	})
	if want := []string{"output", "progress", "role", "scope"}; !slices.Equal(slices.Sorted(maps.Keys(names)), want) {
		t.Errorf("flags %v, want %v", names, want)
	}
}

// TestEntityCompletion checks which entities are offered where, and that a table that cannot
// be read delays the user little, without a word.
func TestEntityCompletion(t *testing.T) {
	e := newEngine(t)
	for _, entity := range []string{"deploy/prod", "deploy/test", "job:7", "deploy/\x1b[2J", "deploy/a\nb", "-deploy", "_activeHelp_ deploy"} {
		e.occupied(t, entity)
	}
	build := queuelock.Key{Entity: "job:7", Reason: "build"}
	locktest.Must(e.client(t).Acquire(t.Context(), build, waitpolicy.NoWait))
	for name, test := range map[string]struct{ args, want string }{
		"Prefix":       {"run|dep", "deploy/prod deploy/test"},
		"All":          {"ls|", "deploy/prod deploy/test job:7"},
		"SecondOfOne":  {"status|job:7|", ""},
		"SecondOfAll":  {"run|--all|deploy/prod|dep", "deploy/test"},
		"Item":         {"status|--item|orders|", ""},
		"AnotherTable": {"status|--table|other|", ""},
		"WrongTable":   {"status|--table|!|", ""},
		"Reasons":      {"status|--reason|", "build lock"},
		"ReasonsOfOne": {"run|job:7|--reason|", "build lock"},
		"ReasonOfOne":  {"lock|job:7|--reason|b", "build"},
		"NoReason":     {"sweep|job|--reason|", ""},
		"OneOfAll":     {"run|--all|deploy/prod|deploy/test|--reason|", "lock"},
	} {
		t.Run(name, func(t *testing.T) {
			o := invoke(t, append([]string{"__complete"}, strings.Split(test.args, "|")...)...)
			found, ok := strings.CutSuffix(o.stdout, ":4\n")
			if !ok || o.code != 0 || strings.Join(strings.Fields(found), " ") != test.want {
				t.Errorf("%+v, want %s", o, test.want)
			}
		})
	}
	shorten(t, &completionLimit, 100*time.Millisecond)
	unused := locktest.Must(net.Listen("tcp", "127.0.0.1:0"))
	unused.Close()
	silent := locktest.Must(net.Listen("tcp", "127.0.0.1:0"))
	defer silent.Close()
	for name, listener := range map[string]net.Listener{"NothingListens": unused, "NoAnswer": silent} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			o := invoke(t, "__complete", "status", "--endpoint", "http://"+listener.Addr().String(), "dep")
			if took := time.Since(begun); o.stdout != ":4\n" || strings.Contains(o.stderr, "queuelock:") || took > closeLimit {
				t.Errorf("%+v after %v", o, took)
			}
		})
	}
}

// TestMan checks that each command has a page with its flags.
func TestMan(t *testing.T) {
	dir := t.TempDir()
	invoke(t, "man", dir).prints(t, 0, "")
	for _, cmd := range newRoot().Commands() {
		page, err := os.ReadFile(filepath.Join(dir, "queuelock-"+cmd.Name()+".1"))
		if cmd.Hidden {
			if err == nil {
				t.Errorf("the hidden command %s has a page", cmd.Name())
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if flag := cmd.Flag("table"); flag != nil && !strings.Contains(string(page), "--table") {
			t.Errorf("the page of %s has no --table", cmd.Name())
		}
	}
}
