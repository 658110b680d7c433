// Package help writes the help text of a command so that it fits on a screen of 24 lines
// of 80 columns.
//
// A text begins with the first paragraph of the command's Long, and has its usage, flags,
// examples and exit codes. What does not fit is left out, in this order: the other
// paragraphs of Long, examples after the second, what the last flags mean, and the second
// example. Each flag is named in any case, with its letter, but for the settings, which most
// commands share: Settings describes them. Whole leaves nothing out, and needs more lines.
package help

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The size of a screen.
const (
	Lines   = 24
	Columns = 80
)

// settings are the flags that are described once for all commands.
var settings = []string{"table", "endpoint", "region", "profile", "partition-key", "sort-key", "verbose"}

// parts are the parts of a text, without the blank lines between them.
type parts struct {
	about    [][]string // the paragraphs
	usage    []string
	commands []entry
	flags    []entry
	common   []entry // the settings
	whole    string  // the command that prints the whole text
	examples []string
	codes    []string
}

// entry is a command or a flag and what it means.
type entry struct{ name, short, meaning string }

// Whole returns the help text of a command with all that Text leaves out.
func Whole(cmd *cobra.Command) string {
	p := newParts(cmd)
	p.common = slices.DeleteFunc(p.common, func(e entry) bool {
		if e.meaning != "" {
			p.flags = append(p.flags, e)
		}
		return e.meaning != ""
	})
	return strings.Join(p.lines(len(p.flags)+len(p.commands)), "\n") + "\n"
}

// Text returns the help text of a command.
func Text(cmd *cobra.Command) string {
	p := newParts(cmd)
	described := len(p.flags) + len(p.commands)
	shorter := func() bool {
		switch {
		case len(p.about) > 1:
			p.about = p.about[:len(p.about)-1]
		case len(p.examples) > 2:
			p.examples = p.examples[:len(p.examples)-1]
		case described > 0:
			described--
		case len(p.examples) > 1:
			p.examples = p.examples[:len(p.examples)-1]
		default:
			return false
		}
		return true
	}
	for len(p.lines(described)) > Lines && shorter() {
	}
	return strings.Join(p.lines(described), "\n") + "\n"
}

func newParts(cmd *cobra.Command) *parts {
	path := strings.Fields(cmd.CommandPath())
	p := &parts{whole: strings.Join(slices.Concat(path[:1], []string{"help"}, path[1:], []string{"--all"}), " ")}
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	for _, paragraph := range strings.Split(strings.TrimSpace(long), "\n\n") {
		lines := strings.Split(strings.TrimRight(paragraph, "\n"), "\n")
		if lines[0] == "Exit codes:" {
			p.codes = codes(lines)
			continue
		}
		p.about = append(p.about, reflow(lines))
	}
	examples, last, _ := strings.Cut(strings.TrimRight(cmd.Example, "\n"), "Exit codes:\n")
	if last != "" {
		p.codes = codes(append([]string{"Exit codes:"}, strings.Split(last, "\n")...))
	}
	p.examples = short(examples)
	p.usage = []string{"Usage: " + cmd.UseLine()}
	if !cmd.HasParent() && cmd.HasSubCommands() {
		p.usage[0] = "Usage: " + cmd.Name() + " COMMAND [ARG]… [flags]"
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			p.commands = append(p.commands, entry{sub.Name(), sub.Name(), sub.Short})
		}
	}
	p.addFlags(cmd)
	return p
}

// addFlags adds the flags of a command, and at the top the names of those that all share.
func (p *parts) addFlags(cmd *cobra.Command) {
	add := func(flag *pflag.Flag) {
		name, short := names(flag)
		switch {
		case flag.Hidden || flag.Name == "help" || flag.Name == "version":
		case slices.Contains(settings, flag.Name) && flag.Shorthand == "":
			p.common = append(p.common, entry{name, short, meaning(flag)})
		default:
			p.flags = append(p.flags, entry{name, short, meaning(flag)})
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	if !cmd.HasParent() && cmd.HasSubCommands() {
		for _, name := range settings { // those of the commands
			if cmd.Flag(name) == nil {
				p.common = append(p.common, entry{short: "--" + name})
			}
		}
	}
	order := func(e entry) int { return slices.Index(settings, strings.TrimPrefix(e.short, "--")) }
	slices.SortFunc(p.common, func(a, b entry) int { return order(a) - order(b) })
}

// short returns the lines of the examples. A line that is too long loses its comment, which
// says what the command says.
func short(examples string) (lines []string) {
	for line := range strings.Lines(examples) {
		line = strings.TrimRight(line, "\n ")
		if utf8.RuneCountInString(line) > Columns {
			line, _, _ = strings.Cut(line, "  # ")
			line = strings.TrimRight(line, " ")
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// lines returns the text, in which only the first commands and flags are described.
func (p *parts) lines(described int) (all []string) {
	section := func(lines ...string) {
		if len(all) > 0 && len(lines) > 0 {
			all = append(all, "")
		}
		all = append(all, lines...)
	}
	for _, paragraph := range p.about {
		section(paragraph...)
	}
	section(p.usage...)
	section(p.list("Commands:", "More commands:", p.commands, min(described, len(p.commands)))...)
	section(p.list("Flags:", "More flags:", p.flags, max(0, described-len(p.commands)))...)
	if len(p.common) > 0 {
		var names []string
		for _, e := range p.common[:min(len(p.common), 3)] {
			names = append(names, e.short)
		}
		if len(names) < len(p.common) {
			names = append(names, "…")
		}
		all = append(all, "Settings: "+strings.Join(names, ", ")+": see 'queuelock help settings'")
	}
	if len(p.examples) > 0 {
		section(append([]string{"Examples:"}, p.examples...)...)
	}
	section(p.codes...)
	return all
}

// list describes the first n entries, and names the others.
func (p *parts) list(title, more string, entries []entry, n int) (lines []string) {
	width := 0
	for _, e := range entries[:n] {
		width = max(width, utf8.RuneCountInString(e.name))
	}
	if n > 0 {
		lines = append(lines, title)
	}
	for _, e := range entries[:n] {
		indent := strings.Repeat(" ", width+4)
		line := fold(fmt.Sprintf("  %-*s  %s", width, e.name, e.meaning), indent)
		lines = append(lines, line...)
	}
	if n < len(entries) {
		var names []string
		for _, e := range entries[n:] {
			names = append(names, e.short)
		}
		if n == 0 {
			more = title
		}
		const noBreak = "\u00a0" // the command is to be copied
		hint := strings.ReplaceAll("(see '"+p.whole+"')", " ", noBreak)
		for _, line := range fold(more+" "+strings.Join(names, " ")+" "+hint, "  ") {
			lines = append(lines, strings.ReplaceAll(line, noBreak, " "))
		}
	}
	return lines
}

// names returns a flag as its line begins, and its letter and name alone.
func names(flag *pflag.Flag) (name, short string) {
	value, _ := pflag.UnquoteUsage(flag)
	switch value {
	case "string", "stringArray":
		value = "TEXT"
	case "int", "float":
		value = "N"
	}
	letter, short := "    ", "--"+flag.Name
	if flag.Shorthand != "" {
		letter, short = "-"+flag.Shorthand+", ", "-"+flag.Shorthand+"/--"+flag.Name
	}
	return strings.TrimRight(letter+"--"+flag.Name+" "+strings.ToUpper(value), " "), short
}

// meaning returns the usage of a flag with its default.
func meaning(flag *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(flag)
	switch value := flag.DefValue; {
	case value == "", value == "0", value == "false", value == "0s", value == "[]", strings.Contains(usage, "(default"):
		return usage
	default:
		for _, zero := range []string{"m0s", "h0m"} { // 1h0m0s is 1h
			if strings.HasSuffix(value, zero) {
				value = strings.TrimSuffix(value, zero) + zero[:1]
			}
		}
		return usage + " (default " + value + ")"
	}
}

// usual are the exit codes of most commands, in two lines and in one.
var usual = [2]string{
	"  64   wrong usage\n  69   DynamoDB cannot be used: no answer, no such table, no rights, no AWS settings",
	"  64   wrong usage; 69 DynamoDB cannot be used",
}

// continued is where a line about a code goes on.
var continued = regexp.MustCompile(`\n {5,}`)

// codes breaks the lines about exit codes, and makes the usual ones short.
func codes(lines []string) (all []string) {
	text := strings.Replace(strings.Join(lines, "\n"), usual[0], usual[1], 1)
	text = continued.ReplaceAllString(text, " ")
	for line := range strings.SplitSeq(text, "\n") {
		all = append(all, fold(line, "       ")...)
	}
	return all
}

// reflow breaks a paragraph again, unless it is a table.
func reflow(lines []string) []string {
	for _, line := range lines {
		if strings.HasPrefix(line, " ") {
			return lines
		}
	}
	return fold(strings.Join(lines, " "), "")
}

// fold breaks a line where it would be longer than a screen is wide.
func fold(line, indent string) (lines []string) {
	for utf8.RuneCountInString(line) > Columns {
		end := len(string([]rune(line)[:Columns+1]))
		at := strings.LastIndex(line[:end], " ")
		if at <= len(indent) {
			break
		}
		lines = append(lines, strings.TrimRight(line[:at], " "))
		line = indent + line[at+1:]
	}
	return append(lines, line)
}

// Settings returns the text about the flags that most commands share, as that command
// describes them.
func Settings(cmd *cobra.Command) string {
	var entries []entry
	for _, name := range settings {
		if flag := cmd.Flag(name); flag != nil && flag.Shorthand == "" {
			name, short := names(flag)
			entries = append(entries, entry{strings.TrimSpace(name), short, meaning(flag)})
		}
	}
	lines := fold("AWS settings are those of every AWS tool: the environment, ~/.aws/config and ~/.aws/credentials, roles. "+
		"A flag goes before them. DynamoDB at a loopback address needs neither a region nor credentials.", "")
	lines = append(append(lines, ""), (&parts{}).list("Flags of most commands:", "", entries, len(entries))...)
	return strings.Join(lines, "\n") + "\n"
}
