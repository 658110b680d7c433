package main

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// nextStep is what a line must have to help: what is needed, or where to look.
var nextStep = regexp.MustCompile(`need|shorten it|name |use |see '|see "|check |write |give |set |run '|choose |leave |try |make |did you mean|there is no|add |at least|at most|possible|once`)

// words splits a line at spaces, but not between single quotes.
func words(line string) (args []string) {
	for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		args = append(args, strings.Trim(word, "'"))
	}
	return args
}

// TestWrongInput checks that each wrong input gives one clear line on standard error, with
// a next step, nothing on standard output, and the exit code of its kind.
func TestWrongInput(t *testing.T) {
	e, requests := newEngine(t), 0
	e.onApplied(func(string) { requests++ })
	const sh = "-- true"
	for _, test := range []struct {
		line  string // split at spaces; '' is an empty argument
		words string // that the message has
		code  int    // zero: exitUsage
	}{
		// Commands.
		{"", "a command is missing", 0},
		{"statsu x", "there is no command \"statsu\": did you mean 'queuelock status'?", 0},
		{"help statsu", "did you mean 'queuelock status'?", 0},
		{"frobnicate", "see 'queuelock --help'", 0},
		{"completion tcsh", "tcsh", 0},
		{"man", "received 0", 0},
		{"version now", `"now"`, 0},
		// run.
		{"run", "ENTITY is missing", 0},
		{"run x", "the command is missing", 0},
		{"run x --", "the command is missing", 0},
		{"run x y " + sh, `"y" is one ENTITY too many`, 0},
		{"run a ls -l", `queuelock run a -- ls`, 0},
		{"sweep nosuch", "there is no such queue", exitFailed},
		{"evict nosuch --ticket 1", "there is no such queue", exitFailed},
		{"evict nosuch --force --yes", "--ticket is missing", 0},
		{"run '' " + sh, "ENTITY is empty", 0},
		{"run x -n -w 5 " + sh, "use one", 0},
		{"run x --once 25h " + sh, "--once 25h", 0},
		{"run x --once 0s " + sh, "--once 0s", 0},
		{"run x --once --ttl 10m " + sh, "--once --ttl", 0},
		{"run x --once 1m -n " + sh, "--nonblock", 0},
		{"run x --once 1m --shared " + sh, "--shared", 0},
		{"run --all x y --once 1m " + sh, "--all", 0},
		{"run x --once 1m --progress json " + sh, "--progress json", 0},
		{"run x --ttl 200h " + sh, "--ttl 200h", 0},
		{"run x --permits 501 " + sh, "--permits 501", 0},
		{"run x --permits many " + sh, "whole number", 0},
		{"run x --shared --permits 2 " + sh, "use one of them", 0},
		{"run x -x -s " + sh, "use one of them", 0},
		{"run x --exclusive --permits 2 " + sh, "use one of them", 0},
		{"run x --scope galaxy " + sh, "queue, entity or table", 0},
		{"run x --lock-delay 25h " + sh, "--lock-delay 25h", 0},
		{"run x --lock-delay 5s --fail-closed " + sh, "use one of them", 0},
		{"run x -E 300 " + sh, "300", 0},
		{"run x --progress=loud " + sh, "loud", 0},
		{"run x -c true " + sh, "use one of them", 0},
		{"run x -c ''", "-c is empty", 0},
		{"run x --tll 5s " + sh, "unknown flag: --tll", 0},
		{"run x -- nosuchcommand", "command not found", exitNotFound},
		{"run x -- /", "cannot be executed", exitNotRunnable},
		{"run x --table a " + sh, "3 to 255", 0},
		{"run x --table '' " + sh, "--table is empty", 0},
		{"run x --endpoint 127.0.0.1:8000 " + sh, "--endpoint", 0},
		{"run x --endpoint ftp://h " + sh, "--endpoint", 0},
		{"run x --reason '' " + sh, "--reason is empty", 0},
		{"status x --reason ''", "--reason is empty", 0},
		{"sweep x --reason ''", "--reason is empty", 0},
		{"--shared run x " + sh, "unknown flag: --shared", 0},
		{"-v run x -n " + sh, "unknown shorthand flag: 'v'", 0},
		{"run x --ttl 30 " + sh, "did you mean 30s?", 0},
		{"run x --kill-after 1.5 " + sh, "did you mean 1.5s?", 0},
		{"status x --json=maybe", "need true or false", 0},
		{"run x --permits 300 " + sh, "need at least --ttl 1m", 0},
		{"run x -- 'echo hi && echo there'", "use -c", exitNotFound},
		{"lock x --env --export", "use one of them", 0},
		{"bench --reps 0", "--reps 0", 0},
		// A flag that takes "--" as its value, and the bounds of values.
		{"run x --wait -- echo ok", `--wait took "--" as its value`, 0},
		{"run x --table -- echo ok", `--table took "--" as its value`, 0},
		{"run x --data " + sh, `--data took "--" as its value`, 0},
		{"run x --ttl 10ms " + sh, "--ttl 10ms: need a duration", 0},
		{"run x --wait 5e1 " + sh, "--wait 5e1: need seconds", 0},
		{"run x --wait 0x2s " + sh, "or attempts such as 5x2s", 0},
		{"run x -E -1 " + sh, "--conflict-exit-code -1: need", 0},
		{"run x --max-waiters -2 " + sh, "--max-waiters -2: need a number from 0 to 10000", 0},
		{"run x --max-waiters 10001 " + sh, "--max-waiters 10001: need", 0},
		{"run x --max-waiters 1 --latest " + sh, "use one of them", 0},
		{"run --all a b --latest " + sh, "--all excludes", 0},
		{"run --all a b --max-waiters 1 " + sh, "--all excludes", 0},
		{"run x --group web " + sh, "--group is only for --latest", 0},
		{"run x --latest --group " + strings.Repeat("x", 257) + " " + sh, "need 1 to 256 bytes", 0},
		{"run x --max-waiters 1 --cancel-in-progress " + sh, "use one of them", 0},
		{"run x --superseded-exit-code 1 " + sh, "is only for --latest", 0},
		{"run x --latest --superseded-exit-code 256 " + sh, "--superseded-exit-code 256: need", 0},
		{"lock x --latest --superseded-exit-code 0", "would go on without the lock", 0},
		{"run --all a b --scope entity " + sh, "use --scope table", 0},
		{"run x -s --data " + strings.Repeat("x", 257) + " " + sh, "--data has 257 bytes: at most 256", 0},
		{"run x --owner= " + sh, "--owner is empty: name", 0},
		{"lock x --owner " + strings.Repeat("x", 257), "--owner has 257 bytes: at most 256", 0},
		{"run x --owner \x1b[2J " + sh, `--owner \x1b[2J: only printable characters are possible`, 0},
		{"run x --data " + strings.Repeat("x", 4097) + " " + sh, "--data has 4097 bytes: at most 4096", 0},
		{"run x --shared --latest --data " + strings.Repeat("x", 256) + " " + sh, "--data has 256 bytes: too many for --shared with a group", 0},
		{"run x --permits 100 --data " + strings.Repeat("x", 4000) + " " + sh, "--data has 4000 bytes: too many for --permits 100", 0},
		{"run x --lock-delay -1s " + sh, "--lock-delay -1s: need a duration", 0},
		{"run x --lock-delay 1us " + sh, "whole milliseconds", 0},
		{"run x --kill-after -1s " + sh, "--kill-after -1s: need a duration from 0s to 1h0m0s, such as 5s", 0},
		{"run x --kill-after 2h " + sh, "--kill-after 2h: need a duration", 0},
		{"run x --permits 0 " + sh, "--permits 0: need a number from 1 to 500; leave it out", 0},
		{"run x --reason a/b " + sh, "a/b", 0},
		// lock and unlock.
		{"lock", "ENTITY is missing", 0},
		{"lock x y", "one argument too many", 0},
		{"lock x --max-hold -1s", "--max-hold", 0},
		{"lock x --parent-pid 99999999", "no such process", 0},
		{"lock x --on-lost TERM", "--on-lost TERM: add --parent-pid", 0},
		{"lock x --parent-pid 1 --on-lost SEGV", "--on-lost SEGV: need one of HUP, INT", 0},
		{"unlock", "HANDLE is missing", 0},
		{"unlock ''", "HANDLE is empty", 0},
		{"unlock a b", "at most 1 arg", 0},
		// status, ls and history.
		{"status", "ENTITY is missing", 0},
		{"status x --region 'eu central'", "--region eu central: need the name", 0},
		{"run x --region eu_central-1 " + sh, "such as eu-central-1", 0},
		{"status x y", "at most 1 arg", 0},
		{"status x --tabel y", "unknown flag: --tabel: see 'queuelock status --help'", 0},
		{"status x -z", "unknown shorthand flag: 'z' in -z: see", 0},
		{"status x --table 'x y'", "\"x y\": need 3 to 255", 0},
		{"status x -o xml", "--output xml: need table, wide, json or yaml", 0},
		{"status x --json -o yaml", "--json and -o yaml exclude each other", 0},
		{"status x --watch --interval 1ms", "--interval", 0},
		{"status x --interval 5s", "--interval is only for --watch", 0},
		{"status --key id=7", "name its table with --item", 0},
		{"status --item orders", "--key is missing", 0},
		{"status x --item orders --key id=1", `"x" and --item exclude each other`, 0},
		{"status --item orders --key id=7 --reason x", "--reason and --item exclude each other", 0},
		{"status --item orders --key 7", `--key "7": need NAME=TEXT`, 0},
		{"status --item orders --key {id", "is no key in JSON", 0},
		{"status --item orders --key id:X=7", "needs one value of type S, N or B", 0},
		{`status --item orders --key {"id":{"S":"a","N":"1"}}`, "needs one value of type S, N or B", 0},
		{"status --item orders --key id=7 --key id=8", "is named twice", 0},
		{"status x --reason item", "use --item TABLE --key KEY", 0},
		{"ls a b", "at most 1 arg", 0},
		{"ls -o xml", "xml", 0},
		{"ls --max-rcu -1", "--max-rcu -1: need a number from 0 to 1000000", 0},
		{"ls --max-rcu NaN", "--max-rcu NaN: need", 0},
		{"ls --table x", "3 to 255", 0},
		{"ls --table missing", `there is no table "missing"`, exitUnavailable},
		{"top --interval 1ms", "need a duration of at least 100ms", 0},
		{"top a b", "at most 1 arg", 0},
		{"ls --max-rcu many", "--max-rcu many: need a number", 0},
		{"evict x --ticket 1 --beat many", "--beat many: need a whole number", 0},
		{"history x --for 1ms", "--for 1ms: need a duration from 1s to 24h0m0s, such as 1m0s", 0},
		{"history x --for 1s --interval 1ms", "--interval", 0},
		{"history x --svg /nonexistent/x.svg", "name a file that can be written", 0},
		{"history x --html /nonexistent/x.html", "name a file that can be written", 0},
		// evict and sweep.
		{"evict x", "--ticket is missing", 0},
		{"evict x --ticket 1 --reason a/b", "a/b", 0},
		{"evict x --ticket seven", "--ticket seven", 0},
		{"evict x --ticket 7 --beat 3", "--force", 0},
		{"sweep", "ENTITY", 0},
		{"sweep x --all", "--all", 0},
		{"revoke x --why " + strings.Repeat("x", 257), "need at most 256 bytes", 0},
		{"revoke x --why 'a\nb'", "b: need at most 256 bytes of printable characters", 0},
		{"revoke x --after -1s", "--after -1s: need", 0},
		{"revoke x --after 200h", "--after 200h: need", 0},
		{"revoke x --ticket x", "--ticket x: need", 0},
		{"run x --on-revoke KILL " + sh, "--on-revoke KILL: need one of HUP, INT", 0},
		{"run x --every 145h " + sh, "--every 145h: need a duration from 1ms", 0},
		{"run x --every 0 " + sh, "leave it out for none", 0},
		{"run x --at-least 0s " + sh, "leave it out for none", 0},
		{"run x --every 1h --at-least 1h " + sh, "use one of them", 0},
		{"run x --every 1h --shared " + sh, "--every: readers would join a closed queue", 0},
		// The table, and what runs beside it.
		{"table", "a command is missing: see 'queuelock table --help'", 0},
		{"table destroy", "destroy", 0},
		{"table creat", "did you mean 'queuelock table create'?", 0},
		{"table create --tag x", "--tag x: need KEY=VALUE", 0},
		{"create-table --table a/b", "3 to 255", 0},
		{"doctor x", "unknown command", 0},
		{"local --port 70000", "--port", 0},
		{"local --create-table a/b", "3 to 255", 0},
		{"local --no-sync", "--no-sync needs --file", 0},
		{"local --file ''", "--file: name a file", 0},
		{"local now", "unknown command", 0},
		{"demo --rounds 0", "--rounds", 0},
		{"demo --hold 0s", "--hold", 0},
		{"demo --endpoint ftp://x", "--endpoint", 0},
		{"help run nosuch", `"run nosuch"`, 0},
		{"demo --workers 0", "--workers", 0},
		{"bench --quick x", "unknown command", 0},
		{"bench --scenarios idle,lazy", "--scenarios idle,lazy: need some of idle, ", 0},
		{"bench --scenarios processes", "--scenarios processes: need some of", 0},
		{"bench --table x", "--table", 0},
		{"bench --endpoint nowhere", "--endpoint", 0},
		{"template", "received 0: see 'queuelock template --help'", 0},
		{"template terraform --role worker", "--role is only for 'template iam'", 0},
		{"template cloudformation --account 123456789012", "--account is only for 'template iam'", 0},
		{"template cdk --region eu-north-1", "--region is only for 'template iam'", 0},
		{"template pulumi", `there is no template "pulumi": need cloudformation`, 0},
		{"template iam --role root", "--role root: need worker, observer, operator or admin", 0},
		{"template iam --account 1", "--account 1: need the 12 digits", 0},
		{"template iam --region EU!", "--region EU!: need a region", 0},
		{"template cdk --table arn:aws:dynamodb:a:b:table/abc", "need the name of the table, not its ARN", 0},
	} {
		t.Run(test.line, func(t *testing.T) {
			args := words(test.line)
			before := requests
			o := invoke(t, args...)
			if test.code == 0 && requests != before {
				t.Errorf("%d requests were made", requests-before)
			}
			if code := test.code; o.code != code && !(code == 0 && o.code == exitUsage) {
				t.Errorf("exit code %d", o.code)
			}
			if o.stdout != "" {
				t.Errorf("on standard output: %q", o.stdout)
			}
			line, more, _ := strings.Cut(o.stderr, "\n")
			if more != "" || utf8.RuneCountInString(line) > maxLine || !strings.HasPrefix(line, "queuelock: ") {
				t.Errorf("no line of at most %d characters: %q", maxLine, o.stderr)
			}
			if !strings.Contains(line, test.words) {
				t.Errorf("%q is not in %q", test.words, line)
			}
			if !nextStep.MatchString(line) {
				t.Errorf("there is no next step in %q", line)
			}
			for _, name := range []string{"Permits(", "HeartbeatInterval", "waitpolicy", "strconv", "Config."} {
				if strings.Contains(line, name) {
					t.Errorf("a Go name is in %q", line)
				}
			}
		})
	}
}
