package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/waitpolicy"
)

// play returns the rows of the table that follow from what the library does.
func play(ctx context.Context, sources []source) ([]row, error) {
	frames, err := turn(ctx, func() {})
	if err != nil {
		return nil, err
	}
	files, err := turnFiles(ctx, sources)
	if err != nil {
		return nil, err
	}
	bytes, goroutines, err := waiters(ctx, 2_000)
	return played(frames, files, bytes, goroutines), err
}

func played(frames map[string]int, files []count, bytes, goroutines float64) (rows []row) {
	for _, name := range requests {
		rows = append(rows, row{name: "calls between the caller and the SDK, " + name, value: frames[name]})
	}
	return append(rows,
		row{name: "files of a queued turn", value: sum(files), room: 3, parts: files},
		row{name: "packages of a queued turn", value: len(files)},
		row{name: "bytes of a waiter among 2,000", value: int(bytes), room: 5, note: "with the goroutine of its caller, and its items in the engine"},
		row{name: "goroutines of a waiter, beside its caller's", value: int(math.Round(goroutines)) - 1},
	)
}

// requests are the requests of a turn that the table shows.
var requests = []string{"TAKE", "LOOK", "CLAIM", "Release"}

var measured = queuelock.Key{Entity: "measured"}

// transport sends requests to an engine in this process.
type transport struct{ engine http.Handler }

func (t transport) Do(request *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	t.engine.ServeHTTP(answer, request)
	return answer.Result(), nil
}

// recorder is an SDK client that counts the calls of this module from the public one to each of its own, and the tickets of rows.
type recorder struct {
	*dynamodb.Client
	rows   atomic.Int64
	looked func()
	reset  chan struct{} // has a value once the write in the background has ended

	mu     sync.Mutex
	writes []string // the names of the coming writes; the last one stays
	frames map[string]int
}

// open creates a table, with a lock that is held, and returns a client that waits for it in vain.
func open(ctx context.Context) (*queuelock.Client, *recorder, error) {
	db := dynamodb.New(dynamodb.Options{
		Region:       "local",
		BaseEndpoint: aws.String("http://embedded"),
		HTTPClient:   transport{embedded.New(embedded.Config{})},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "measure", SecretAccessKey: "measure"}, nil
		}),
	})
	if err := queuelock.CreateTable(ctx, db, "locks", queuelock.Config{}); err != nil {
		return nil, nil, err
	}
	holder, err := queuelock.New(db, "locks", queuelock.Config{})
	if err != nil {
		return nil, nil, err
	}
	if _, err := holder.Acquire(ctx, measured, waitpolicy.NoWait); err != nil {
		return nil, nil, err
	}
	r := &recorder{Client: db, looked: func() {}, writes: []string{"TAKE", "CLAIM"}, frames: map[string]int{}, reset: make(chan struct{}, 1)}
	client, err := queuelock.New(r, "locks", queuelock.Config{})
	return client, r, err
}

// end ends the turn of the holder, as its release does if others wait.
func (r *recorder) end(ctx context.Context) error {
	all, err := r.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String("locks")})
	if err != nil {
		return err
	}
	for _, item := range all.Items {
		if item["holders"] == nil {
			continue
		}
		_, err := r.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                 aws.String("locks"),
			Key:                       map[string]types.AttributeValue{"pk": item["pk"], "sk": item["sk"]},
			UpdateExpression:          aws.String("SET holders = :none"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":none": &types.AttributeValueMemberM{}},
		})
		return err
	}
	return fmt.Errorf("no record among %d items", len(all.Items))
}

// turn waits for a lock, acquires it and releases it. It returns the calls between the public call, which counts, and
// the SDK. begun is called before the turn.
func turn(ctx context.Context, begun func()) (map[string]int, error) {
	client, r, err := open(ctx)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	r.looked = sync.OnceFunc(func() { go func() { ended <- r.end(ctx) }() })
	begun()
	lock, err := client.Acquire(ctx, measured, waitpolicy.For(time.Minute))
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.writes = []string{"Release", "RESET"}
	r.mu.Unlock()
	if err := lock.Release(ctx); err != nil {
		return nil, err
	}
	select { // a RESET is of the turn, too, although the caller does not wait for it
	case <-r.reset:
	case <-time.After(time.Second): // there is none
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.frames, "RESET")
	return maps.Clone(r.frames), <-ended
}

func (r *recorder) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	r.mu.Lock()
	name := r.writes[0]
	r.writes = r.writes[min(1, len(r.writes)-1):]
	r.mu.Unlock()
	r.record(name)
	out, err := r.Client.UpdateItem(ctx, in, opts...)
	if name == "RESET" {
		select {
		case r.reset <- struct{}{}:
		default:
		}
	}
	return out, err
}

func (r *recorder) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	r.record("LOOK")
	defer r.looked()
	return r.Client.Query(ctx, in, opts...)
}

func (r *recorder) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	turns := int64(1)
	if n, ok := in.Item[attr.Turns].(*types.AttributeValueMemberN); ok {
		turns, _ = strconv.ParseInt(n.Value, 10, 64)
	}
	defer r.rows.Add(turns)
	return r.Client.PutItem(ctx, in, opts...)
}

// record counts the functions of this module that are under way, from the public call or, in another goroutine, from its
// first function.
func (r *recorder) record(name string) {
	callers := make([]uintptr, 256)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	n := 0
	for more := true; more; {
		var frame runtime.Frame
		if frame, more = frames.Next(); strings.HasPrefix(frame.Function, module) {
			n++
		}
		if strings.HasPrefix(frame.Function, module+".(*") && (strings.HasSuffix(frame.Function, ").Acquire") || strings.HasSuffix(frame.Function, ").Release")) {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames[name] = max(r.frames[name], n)
}

// stats is not on a stack: a new goroutine begins with a stack of what all used on average at the last collection, and these 6 KB
// would make that 4 KB.
var stats runtime.MemStats

// waiters returns the bytes and goroutines of each of n acquires that wait, the goroutine of its caller among them. A
// part of the bytes is the engine's.
func waiters(ctx context.Context, n int) (bytes, goroutines float64, err error) {
	client, r, err := open(ctx)
	if err != nil {
		return 0, 0, err
	}
	use := func() (bytes, goroutines float64) {
		for range 5 { // each halves stacks that are hardly used
			runtime.GC()
		}
		runtime.ReadMemStats(&stats)
		return float64(stats.HeapAlloc + stats.StackInuse), float64(runtime.NumGoroutine())
	}
	bytesBefore, before := use()
	failed := make(chan error, n)
	for range n {
		go func() {
			_, err := client.Acquire(ctx, measured, waitpolicy.Forever)
			failed <- err
		}()
	}
	for r.rows.Load() < int64(n) {
		select {
		case err := <-failed:
			return 0, 0, err
		case <-time.After(100 * time.Millisecond):
		}
	}
	bytes, goroutines = use()
	for range 8 { // requests under way need more
		time.Sleep(200 * time.Millisecond)
		b, g := use()
		bytes, goroutines = min(bytes, b), min(goroutines, g)
	}
	return (bytes - bytesBefore) / float64(n), (goroutines - before) / float64(n), nil
}
