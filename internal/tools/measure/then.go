package main

// then has values of this program at commit 5f426da, before each write was described once:
//
//	git archive 5f426da | tar x -C DIR && rm -r DIR/internal/tools/measure
//	cp -r internal/tools/measure DIR/internal/tools && cd DIR && go run ./internal/tools/measure
//
// A review of that commit, which counted by reading and by patterns in the text, has 14,849 lines, 88 functions, 15 calls
// from Release, 45 files and 16 packages.
var then = map[string]int{
	"lines of Go in the library":                    14_973,
	"lines of tests":                                61_498,
	"methods of a type of the library":              77,
	"functions that touch three mechanisms or more": 90,
	"calls between the caller and the SDK, TAKE":    21,
	"calls between the caller and the SDK, LOOK":    21,
	"calls between the caller and the SDK, CLAIM":   19,
	"calls between the caller and the SDK, Release": 16,
	"files of a queued turn":                        57,
	"packages of a queued turn":                     20,
	"bytes of a waiter among 2,000":                 24_100,
	"goroutines of a waiter, beside its caller's":   1,
}

// timed names what is timed, or compared with the commit by two runs, and therefore not in the table.
const timed = `
Not in the table: the times of "make test" and "make spec", and the processor time of a cycle, which is to be at most
0.85 of that of 5f426da. Run this here and in a copy of that commit, and compare "cpu-ms/1000cycles":

  go test ./test/faults -run '^$' -bench BenchmarkKeys/Stub -benchtime 20000x -count 5
`
