package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.yaml.in/yaml/v3"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// hostile is what another program may write into a table: sequences of terminals, lines
// that look like this program's, and characters that change the order of others.
const hostile = "e\x1b[2J\x1b]0;t\a\nqueuelock: FORGED\r\t\x7f\u009b1m\u202e\u2028\U000e0041"

// plant writes a record with hostile holders, readable and not, and hostile rows.
func (e *engine) plant(t *testing.T, entity, reason string) {
	t.Helper()
	key := queuelock.Key{Entity: entity, Reason: reason}
	holder := func(n string, more map[string]types.AttributeValue) types.AttributeValue {
		fields := map[string]types.AttributeValue{
			"beat": number("1"), "ttl": number("60000"), "owner": text(hostile), "mode": text("shared"), "ticket": number(n), "data": &types.AttributeValueMemberB{Value: []byte(hostile)},
		}
		for name, value := range more {
			fields[name] = value
		}
		return &types.AttributeValueMemberM{Value: fields}
	}
	e.put(t, key, 0, map[string]types.AttributeValue{
		"ticketNumber": number("9"), "servingAfter": number("0"), "granted": number("4"), "holdMode": text("shared"),
		"holders": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
			"h" + hostile: holder("1", nil),
			"u" + hostile: text(hostile),
			"z":           holder("3", map[string]types.AttributeValue{"beat": text(hostile)}),
		}},
	})
	e.put(t, key, 5, map[string]types.AttributeValue{
		"id": text(hostile), "owner": text(hostile), "beat": number("1"), "ttl": number("15000"), "mode": text("exclusive"),
	})
	e.put(t, key, 6, map[string]types.AttributeValue{"id": text(hostile), "beat": text(hostile)})
}

// mustBePlain fails the test if an output has a control character, or a line of another.
func mustBePlain(t *testing.T, name, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "queuelock: FORGED") {
			t.Errorf("%s: a forged line: %q", name, out)
		}
		if !display.Printable(line) {
			t.Errorf("%s: %q", name, line)
		}
	}
}

// TestHostileTable checks that no command sends to a terminal what another program wrote.
func TestHostileTable(t *testing.T) {
	e := newEngine(t)
	shorten(t, &actLimit, 5*time.Second)
	e.plant(t, "x", "lock")
	e.plant(t, hostile, hostile)
	for _, args := range [][]string{
		{"status", "x"}, {"status", "x", "-o", "wide"}, {"status", "x", "-o", "json"}, {"status", "x", "-o", "yaml"},
		{"status", hostile, "--reason", hostile}, {"status", hostile, "--reason", hostile, "-o", "json"}, {"status", hostile, "--reason", hostile, "-o", "yaml"},
		{"ls"}, {"ls", "-o", "wide"}, {"ls", "-o", "json"}, {"ls", "-o", "yaml"}, {"ls", hostile},
		{"top", "--once"}, {"history", "x", "--for", "1s"}, {"history", "x", "--for", "1s", "--json"},
		{"run", "x", "-n", "--", "true"}, {"run", "x", "-n", "--progress", "json", "--", "true"}, {"run", "x", "-w", "0.2", "--progress", "json", "--", "true"}, {"run", "x", "-w", "0.2", "--", "true"},
		{"run", hostile, "--reason", hostile, "-n", "--", "true"}, {"run", hostile, "--", "/nosuch/" + hostile},
		{"lock", "x", "-n", "--reason", "other", "--table", hostile},
		{"sweep", "x", "--dry-run"}, {"sweep", "x", "--dry-run", "--json"}, {"sweep", "--all", "--dry-run"}, {"sweep", "--all", "--dry-run", "--json"},
		{"evict", "x", "--ticket", "99"}, {"evict", "x", "--ticket", "1"}, {"evict", "x", "--force", "--ticket", "1"}, {"evict", "x", "--force", "--ticket", "2"},
		{"evict", hostile, "--reason", hostile, "--ticket", "99", "--verbose"}, {"evict", "x", "--force", "--ticket", "1", "--yes", "--json"},
		{"doctor", "--table", hostile}, {"table", "create", "--table", hostile}, {hostile}, {"--" + hostile}, {"status", "x", "-o", hostile},
		{"status", "--item", hostile, "--key", hostile}, {"status", "--item", "t" + hostile, "--key", "id=" + hostile}, {"unlock", hostile}, {"--verbose", "template", "iam", "--role", hostile},
		{"__complete", "status", ""},
	} {
		o := invoke(t, args...)
		name := strings.ToValidUTF8(strings.Join(args, " "), "?")
		if args[0] == "__complete" {
			o.stdout = strings.ReplaceAll(o.stdout, "\t", " ") // the form of completions
		}
		mustBePlain(t, name, o.stdout)
		mustBePlain(t, name, o.stderr)
	}
}

// FuzzFilter checks that a filter lets only printable lines pass, and leaves those as they
// are, and that machines read back what was written.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{"", "plain\ntext", hostile, "\xff\x9b", "a\\x1b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var out strings.Builder
		if n, err := io.WriteString(display.NewFilter(&out), text); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
		for line := range strings.Lines(out.String()) {
			if !display.Printable(strings.TrimSuffix(line, "\n")) {
				t.Errorf("%q", line)
			}
		}
		if strings.IndexFunc(strings.ReplaceAll(text, "\n", ""), func(r rune) bool { return !unicode.IsPrint(r) || r == '\uFFFD' }) < 0 && out.String() != text {
			t.Errorf("%q was changed: %q", text, out.String())
		}
		text = strings.ToValidUTF8(text, "?")
		for form, read := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": yaml.Unmarshal} {
			write := display.JSON
			if form == "yaml" {
				write = display.YAML
			}
			var plain, filtered strings.Builder
			locktest.OK(t, write(&plain, []string{text}))
			if err := write(display.NewFilter(&filtered), []string{text}); err != nil || plain.String() != filtered.String() {
				t.Errorf("%s: %v: %q was changed: %q", form, err, plain.String(), filtered.String())
			}
			var back []string
			if err := read([]byte(plain.String()), &back); err != nil || len(back) != 1 || back[0] != text {
				t.Errorf("%s: %v: %q is not %q: %q", form, err, back, text, plain.String())
			}
		}
	})
}
