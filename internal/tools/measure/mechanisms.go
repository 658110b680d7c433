package main

import (
	"go/ast"
	"regexp"
)

// mechanisms are the parts of the protocol and of the API that one function should not mix, each with the identifiers
// that name it. They are coarse: compare counts of one list only.
var mechanisms = map[string]*regexp.Regexp{
	"unknown outcomes":    regexp.MustCompile(`(?i)unknown|attempt|withdraw|earlier|cleanup|outlive`),
	"fenced transactions": regexp.MustCompile(`(?i)transact|settle|^made$|fence|doubt`),
	"pacing":              regexp.MustCompile(`(?i)^pace|early|foreseen|schedule|slowest|fastest|expected|^asked|^turns$`),
	"shared and permits":  regexp.MustCompile(`(?i)shared|permit|^mode|mode$|readers|^alone|^room$`),
	"callbacks, events":   regexp.MustCompile(`(?i)notify|callback|^event$|^on[A-Z]`),
	"marks":               regexp.MustCompile(`(?i)mark|outcome|^evicted|^released`),
	"resume":              regexp.MustCompile(`(?i)resum|handle|takeover|adopt`),
	"wider scopes":        regexp.MustCompile(`(?i)scope|counter$|^enter`),
	"items":               regexp.MustCompile(`(?i)itemkey|^home|itemlock|updateandrelease|^updatesitem|^prefix$|itemprefix`),
	"retries, grace":      regexp.MustCompile(`(?i)retry|grace`),
	"local hand-over":     regexp.MustCompile(`(?i)^handover$|offer|^pass`),
	"fail closed":         regexp.MustCompile(`(?i)failclosed|confirm|keepsclosed|^closed$`),
	"hand-over by name":   regexp.MustCompile(`(?i)^named|nameable|entryid|successor|suspect|abandoned`),
	"NoWait, attempts":    regexp.MustCompile(`(?i)nowait|idleonly|maxattempts|^attempts$`),
	"bells":               regexp.MustCompile(`(?i)bell|rung|woken|^wake`),
	"lock delay":          regexp.MustCompile(`(?i)delay`),
	"several locks":       regexp.MustCompile(`(?i)multi|several|^stuck|^locks$`),
	"seeds, Forget":       regexp.MustCompile(`(?i)forget|^seed|^reset`),
}

// mixed returns the functions of a file that touch more mechanisms than most, and how many.
func mixed(s source, most int) (counts []count) {
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		names := map[string]bool{}
		ast.Inspect(f, func(node ast.Node) bool {
			if name, ok := node.(*ast.Ident); ok {
				names[name.Name] = true
			}
			return true
		})
		n := 0
		for _, sign := range mechanisms {
			for name := range names {
				if sign.MatchString(name) {
					n++
					break
				}
			}
		}
		if n > most {
			counts = append(counts, count{s.symbol(receiver(f) + f.Name.Name), n})
		}
	}
	return counts
}
