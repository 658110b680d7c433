// Package engines starts the DynamoDB engines that the test suites run on, and hands out SDK clients for them. It is
// test apparatus. The suite that compares the engines is test/conformance.
//
//	func TestTicketsOnlyRise(t *testing.T) {
//		engines.Each(t, func(t *testing.T, e engines.Engine) {
//			db := e.Client(t)
//			…
//		})
//	}
//
// # The engines
//
//	name            what it is                                     how it runs
//	embedded        this module's own table in memory              in the test process, without sockets
//	dynoxide        a native engine that is checked against AWS    a child process, from .tools/
//	dynamodb-local  AWS's own DynamoDB Local                       a child process, from .tools/, with the installed Java
//	endpoint        whatever answers at QUEUELOCK_TEST_ENDPOINT    not started here; only when that variable is set
//
// # Which of them run
//
// With QUEUELOCK_ENGINES unset, as in a plain `go test ./...`: every engine that is installed. The subtest of one that
// is not is skipped, and says what to run.
//
// With QUEUELOCK_ENGINES set to a comma-separated list of names: those, and a missing one is a failure. `make test` asks
// for all of them this way, so that nothing is left out unseen; QUEUELOCK_ENGINES=embedded is the quick run.
//
// The endpoint, when set, is always among them. It is called with the credentials and region that the AWS SDK finds in
// its usual places, if AWS_ACCESS_KEY_ID or AWS_PROFILE is set; otherwise with made-up ones, which suits every emulator.
//
// # Lifetime
//
// An engine starts on first use, once per test binary, bound to a loopback port, and is ready when it has answered a
// ListTables. All tests of a binary share it: a test creates tables under names of its own. [Main] stops what was
// started. A binary without it, or one that dies, takes its engines with it on Linux (the kernel ends them); elsewhere
// DynamoDB Local ends with the binary, and dynoxide may outlive it.
//
// # What it does not promise
//
// That the engines agree. What is known of where they differ is asserted in test/conformance. What the library requires
// and DynamoDB Local lacks is put into its answers: the item of a refusal.
package engines
