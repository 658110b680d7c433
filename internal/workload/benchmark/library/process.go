package library

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// process stands for a process. A crash separates its clients from the table.
type process struct {
	table  *Table
	prefix string
	killed atomic.Bool

	mu      sync.Mutex
	clients []*client // guarded by mu
}

var _ scenario.Process = (*process)(nil)

// client is a client with connections of its own.
type client struct {
	Locker
	table *Table
	close func() // of its connections
}

func (p *process) Open(_ context.Context, lease time.Duration) (scenario.Client, error) {
	db, closeIdle := p.table.Connect(p.table.Meter.Option, p.option)
	locks, err := queuelock.New(db, p.table.Name, queuelock.Config{TTL: lease})
	if err != nil {
		return nil, err
	}
	c := &client{Locker: Locker{locks, p.prefix}, table: p.table, close: closeIdle}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clients = append(p.clients, c)
	return c, nil
}

// option is an option of the SDK's client, by which Kill stops its requests.
func (p *process) option(o *dynamodb.Options) { o.HTTPClient = link{p, o.HTTPClient} }

type link struct {
	process *process
	next    dynamodb.HTTPClient
}

var errKilled = errors.New("the process was killed")

func (l link) Do(r *http.Request) (*http.Response, error) {
	if l.process.killed.Load() {
		return nil, errKilled
	}
	return l.next.Do(r)
}

func (p *process) Kill() { p.killed.Store(true) }

// endLimit bounds how long clients may take to release their locks and leave the queues.
const endLimit = 10 * time.Second

// End closes the clients. What they leave behind is deleted with the keys.
func (p *process) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	var ends sync.WaitGroup
	for _, c := range p.clients {
		ends.Go(func() {
			_ = c.Client.Close(ctx)
			c.close()
		})
	}
	ends.Wait()
	p.clients = nil
}

func (p *process) Usage(context.Context) (scenario.Usage, error) { return UsageOfProcess(), nil }

// UsageOfProcess collects garbage and reports the memory of this process.
func UsageOfProcess() scenario.Usage {
	runtime.GC()
	runtime.GC() // what pools keep goes with the second
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return scenario.Usage{Memory: memory.HeapAlloc + memory.StackInuse, Goroutines: runtime.NumGoroutine()}
}

func (c *client) Acquire(ctx context.Context, key string) (scenario.Turn, error) {
	c.table.used(c.Prefix + key)
	release, err := c.Locker.Acquire(ctx, key)
	return scenario.Turn{Granted: time.Now(), Release: release}, err
}

func (c *client) Try(ctx context.Context, key string) (scenario.Turn, bool, error) {
	c.table.used(c.Prefix + key)
	release, err := c.Locker.Try(ctx, key)
	return scenario.Turn{Granted: time.Now(), Release: release}, release != nil, err
}

func (c *client) Contend(ctx context.Context, crowd scenario.Crowd) (scenario.Done, error) {
	c.table.used(c.Prefix + scenario.CrowdKey)
	return crowd.Do(ctx, c.Locker)
}

func (c *client) Cycles(ctx context.Context, work scenario.Work) (scenario.Done, error) {
	for _, key := range work.AllKeys() {
		c.table.used(c.Prefix + key)
	}
	return work.Do(ctx, c.Locker)
}
