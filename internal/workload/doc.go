// Package workload has what the demo, the benchmarks and the chaos run do with locks. None of it is part of the library.
//
//	crew       worker processes: started, followed, killed
//	turns      what they report of their turns, and the judge of grants
//	benchmark  "queuelock bench", and what it shares with the module bench
package workload
