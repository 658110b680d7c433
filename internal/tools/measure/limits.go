package main

// limits are the values that were reached. Lower one in the commit that lowers its value. Raise one only with the reason in
// the message of the commit. A row without a limit is for information.
var limits = map[string]int{
	"Go files in the root package":                  24,
	"fields of Lock":                                1,
	"cyclomatic complexity of a function":           28,
	"fields of a struct":                            24,
	"words of documentation per symbol, root":       43,
	"words of documentation per symbol, all public": 26,
	"README lines":                                  202,
	"banned words in code, comments and docs":       0,
	"lines of Go in the library":                    24_158,
	"lines of what a client does in a queue":        8_271,
	"lines of internal/testbed/search":              4_039,
	"exported symbols of queue":                     150,
	"lines above 120 columns":                       0,
	"go:noinline pragmas":                           0,
	"methods of a type of the library":              56,
	"functions that touch three mechanisms or more": 102,
	"places that send a write":                      14,
	"loops that drive":                              15,
	"exported functions with internal types":        0,
	"calls between the caller and the SDK, TAKE":    9,
	"calls between the caller and the SDK, LOOK":    6,
	"calls between the caller and the SDK, CLAIM":   8,
	"calls between the caller and the SDK, Release": 8,
	"files of a queued turn":                        85,
	"packages of a queued turn":                     20,
	"bytes of a waiter among 2,000":                 4_000,
	"goroutines of a waiter, beside its caller's":   0,
}
