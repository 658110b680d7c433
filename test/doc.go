// Package test holds the tests of the library's behaviour, one topic a directory:
//
//	acquire     the queue: order, waits, attempts and progress
//	budget      requests and capacity units
//	callback    callbacks that block, panic or come late
//	docs        the pages, compared with the code
//	engines     every engine, in real time
//	failclosed  locks that only an operator ends
//	faults      outages, crashes, hanging requests and malformed items
//	imports     what the packages import
//	input       configuration, keys, tables and credentials
//	inspect     what others see of a lock
//	item        locks on the caller's own items
//	lease       how long a lock lasts: clocks and heartbeats
//	load        CPU time, memory and goroutines
//	lockdelay   the delay after a lost lock
//	multilock   AcquireAll and the wider scopes
//	release     Release, Do and Close
//	resume      another process takes over
//	shared      Shared, Permits and Downgrade
//	transact    writes that are made only while the lock is held
package test
