// Package queuelocktest provides a DynamoDB table in memory, real SDK clients for it,
// and a network between the two that fails when a test asks for it.
//
//	func TestPartition(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			table := queuelocktest.NewTable(t)
//			alice := table.Client("alice")
//			locks, err := queuelock.New(alice, table.Name(), queuelock.Config{})
//			if err != nil {
//				t.Fatal(err)
//			}
//			defer locks.Close(context.Background())
//			lock, err := locks.Acquire(t.Context(), queuelock.Key{Entity: "order-7"}, waitpolicy.NoWait)
//			if err != nil {
//				t.Fatal(err)
//			}
//
//			alice.Partition()
//			<-lock.Context().Done() // a minute of the bubble's time
//			if !errors.Is(lock.Err(), queuelock.ErrLost) {
//				t.Error(lock.Err())
//			}
//		})
//	}
//
// Close the client inside the bubble, because waiters and requests have goroutines and a bubble ends
// only when all of its goroutines have. The file lock_test.go of this package has this
// test. Make tables of your own code with CreateTable of the same SDK client.
//
// # What it promises
//
// The table behaves as DynamoDB does for the operations that a lock uses, and every
// client is the real one with its own retries. There are no sockets but those of
// [Client.Serve], and no goroutine is left behind, so a test can run in a
// [testing/synctest] bubble, where an hour of heartbeats takes milliseconds. Create the
// table, its clients and its faults inside the bubble that uses them.
//
// Faults are deterministic: the same requests in the same order meet the same faults.
// A fault with a probability has a seed. Requests and capacity units are counted exactly.
//
// # What it does not promise
//
// It is no benchmark: by default a request takes no time (see [WithLatency]). It checks
// neither signatures nor permissions. The scheduler orders requests that several
// goroutines send at the same moment. A test that needs one order holds requests with
// [HoldRequest] or [HoldResponse] and lets them go one by one.
//
// In a bubble time begins in 2000, and new records count their tickets from 2026 on: there
// each begins at ticket 1, so tokens fall after a record was deleted. With [WithClock] the
// table can be of a later time.
//
// # What the table supports
//
// The table supports CreateTable, DescribeTable, DeleteTable, ListTables,
// UpdateTimeToLive and DescribeTimeToLive. It supports GetItem, PutItem,
// UpdateItem, DeleteItem, Query, Scan, BatchGetItem, BatchWriteItem,
// TransactGetItems and TransactWriteItems with all their expressions.
//
// It refuses the following and names them in the error:
//
//   - Every other operation, with UnknownOperationException. This includes
//     UpdateTable, PartiQL, streams, backups, exports, global tables and tags.
//   - Secondary indexes and streams in CreateTable, with ValidationException.
//   - The legacy parameters AttributesToGet, AttributeUpdates,
//     ConditionalOperator, Expected, KeyConditions, QueryFilter and ScanFilter,
//     with ValidationException.
//
// It accepts the following and ignores them:
//
//   - Credentials and signatures.
//   - Tags, encryption, table class, resource policy and throughput limits in
//     CreateTable. Provisioned throughput is described and never enforced.
//
// It differs from DynamoDB in time:
//
//   - CreateTable, DeleteTable and UpdateTimeToLive take effect at once, and
//     time to live may change any number of times.
//   - Items expire when [WithExpiry] is set, at the first request after their
//     time, and otherwise never.
//   - An eventually consistent read always sees the latest write.
//   - A batch is applied as a whole. UnprocessedKeys occurs above 16 MB, and
//     UnprocessedItems only beside a transaction (see Split transactions).
//   - Nothing is throttled; [Throttle] and [Refuse] inject such errors.
//
// # Faults
//
// A request goes to the table, is applied, and its response comes back. A
// [Fault] says what happens on the way, and to which requests:
//
//	                      before the write    after the write
//	connection fails      LoseRequest         LoseResponse
//	time passes           DelayRequest        DelayResponse
//	until the test says   HoldRequest         HoldResponse
//	nothing, ever         SwallowRequest      SwallowResponse
//
//	answered with an error of DynamoDB        Refuse
//	throttled by a limit that is named        Throttle
//	a transaction commits item by item        SplitTransaction, SplitTransactions
//	applied once more, later                  Duplicate, HoldDuplicate
//	the client sees an error, and then
//	the request is applied all the same       LandLate, Fault.LandingAnyway
//	one client fails altogether               Client.Partition
//
// A fault meets every request until it is narrowed down:
//
//	table.Inject(queuelocktest.Refuse(queuelocktest.Throttling).Of("Query").WithProbability(0.1, seed))
//	alice.Inject(queuelocktest.DelayRequest(time.Minute).Of("PutItem").Nth(2))
//
//	gate := alice.Inject(queuelocktest.HoldRequest().Of("PutItem").On("order-7", ""))
//	<-gate.Reached()
//	// alice has a ticket and no row: now let bob overtake her
//	gate.Release()
//
// The faults of one client come before those of the table, and earlier ones before later
// ones. A request meets only the first fault that matches it. Each attempt of the SDK is
// a request of its own ([Request.Attempt]).
//
// # Split transactions
//
// DynamoDB's transactions are serializable, but not strictly serializable: their items
// become visible one after another, usually within milliseconds. Only the answer to the
// transaction says that all are visible. By default this table shows all items at once.
// Under [SplitTransaction], [SplitTransactions] and [WithSplitTransactions] it does as
// DynamoDB does. While an item of a transaction is pending, a checked item included,
//
//   - GetItem, Query, Scan and BatchGetItem return the old item, also with
//     ConsistentRead;
//   - PutItem, UpdateItem and DeleteItem fail with TransactionConflictException,
//     which the SDK does not retry, and BatchWriteItem leaves the item
//     unprocessed;
//   - TransactWriteItems and TransactGetItems that name it are cancelled with
//     the reason TransactionConflict;
//   - the same transaction, sent once more with its token, fails with
//     TransactionInProgressException, which the SDK retries.
//
// See "Isolation levels" and "Transaction conflict handling" in
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html,
// and Listing 4 of "Distributed Transactions at Scale in Amazon DynamoDB" (USENIX
// ATC 2023).
//
// A test that fails prints the table's latest requests, with their faults.
package queuelocktest
