package faultnet

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/fault"
)

// What a client sees when its connection fails, with the error values a real
// one would give. The SDK retries all of them.
var (
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	errClosed  = &net.OpError{Op: "read", Net: "tcp", Err: net.ErrClosed}
)

// Connection is one client's way to the engine.
type Connection struct {
	net    *Network
	name   string
	decide func(Request) fault.Fate
	cut    atomic.Bool
}

var _ http.RoundTripper = (*Connection)(nil)

// Cut partitions the connection from the engine: every request fails, and so does one
// under way at its next step. Other connections are not affected.
func (c *Connection) Cut() { c.cut.Store(true) }

// Heal undoes Cut.
func (c *Connection) Heal() { c.cut.Store(false) }

// RoundTrip sends one attempt and plays its fate. Its error is the cause of the
// request's context where that has ended, and otherwise one that a broken
// connection gives.
func (c *Connection) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	r, raw, err := decode(c.name, req)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	fate := c.decide(r)
	c.net.count(r, Tally{Sent: 1})
	l := c.net.begin(r, fate.Name, false)
	a, err := c.carry(ctx, &call{Request: r, http: req.Clone(context.WithoutCancel(ctx)), raw: raw, line: l}, fate)
	if err != nil {
		c.net.finish(l, err.Error())
		return nil, err
	}
	c.net.finish(l, "")
	return a.response(req), nil
}

// call is one request on its way.
type call struct {
	Request
	http *http.Request // a copy, as the caller may reuse its own once it has an answer
	raw  []byte
	line *line
}

func (c *Connection) carry(ctx context.Context, call *call, fate fault.Fate) (answer, error) {
	if err := c.broken(errRefused); err != nil {
		return answer{}, err
	}
	half := fault.Leg{Delay: c.net.cfg.Latency / 2}
	if err := c.net.pass(ctx, half); err != nil {
		return answer{}, err
	}
	a, err := c.arrive(ctx, call, fate)
	if err != nil {
		return answer{}, err
	}
	if err := c.net.pass(ctx, fate.Back); err != nil {
		return answer{}, err
	}
	if fate.Back.Swallowed {
		return answer{}, c.net.swallow(ctx)
	}
	if fate.Back.Lost {
		return answer{}, errReset
	}
	if err := c.net.pass(ctx, half); err != nil {
		return answer{}, err
	}
	return a, c.broken(errReset)
}

// arrive brings the request to the engine. If it may go on without its caller,
// it travels in an errand of its own from the start, so that there is nothing to
// hand over when the caller leaves.
func (c *Connection) arrive(ctx context.Context, call *call, fate fault.Fate) (answer, error) {
	if !fate.Anyway {
		return c.land(ctx, call, fate)
	}
	return c.net.alone(ctx, func(ctx context.Context) (answer, error) { return c.land(ctx, call, fate) })
}

func (c *Connection) land(ctx context.Context, call *call, fate fault.Fate) (answer, error) {
	if err := c.net.pass(ctx, fate.There); err != nil {
		return answer{}, err
	}
	if fate.There.Swallowed {
		c.copy(call, fate)
		return answer{}, c.net.swallow(ctx)
	}
	if fate.There.Lost {
		c.copy(call, fate)
		return answer{}, errReset
	}
	if fate.Refusal != nil {
		a := refused(*fate.Refusal, call.Request)
		c.net.applied(call.line, "refused: "+a.code())
		return a, nil
	}
	if err := c.broken(errReset); err != nil {
		return answer{}, err
	}
	if fate.Split != nil {
		call.http = call.http.WithContext(embedded.WithSplit(call.http.Context(), fate.Split))
	}
	a, err := c.submit(ctx, call)
	c.copy(call, fate)
	return a, err
}

// submit lets the engine process the request. A transaction may take its time
// there, and is not recalled when its caller leaves.
func (c *Connection) submit(ctx context.Context, call *call) (answer, error) {
	if call.Operation != "TransactWriteItems" {
		return c.net.apply(call), nil
	}
	return c.net.alone(ctx, func(context.Context) (answer, error) { return c.net.apply(call), nil })
}

// copy sends the request once more, if that is its fate.
func (c *Connection) copy(original *call, fate fault.Fate) {
	if fate.Copy == nil {
		return
	}
	again := *original
	again.line = c.net.begin(original.Request, fate.Name, true)
	c.net.errand(func() {
		if err := c.net.pass(again.http.Context(), *fate.Copy); err != nil {
			c.net.finish(again.line, err.Error())
			return
		}
		c.net.apply(&again)
		c.net.finish(again.line, "")
	})
}

// broken reports how a request fails if it cannot get through at all.
func (c *Connection) broken(how error) error {
	c.net.mu.Lock()
	closed := c.net.closed
	c.net.mu.Unlock()
	switch {
	case closed:
		return errClosed
	case c.cut.Load():
		return how
	}
	return nil
}

type clientKey struct{}

// ClientOf returns the name of the client that has sent a request, to its engine.
func ClientOf(r *http.Request) string {
	name, _ := r.Context().Value(clientKey{}).(string)
	return name
}

// apply lets the engine process the request, counts what it cost, and returns
// the answer as the caller asked for it. The engine's context ends with Close.
func (n *Network) apply(call *call) answer {
	ctx, end := n.callOf(call.http.Context())
	defer end()
	body, strip := call.raw, false
	if !n.cfg.WithoutCapacity {
		body, strip = askCapacity(call.Request, call.raw)
	}
	w := httptest.NewRecorder()
	n.serve(w, forEngine(call.http.WithContext(context.WithValue(ctx, clientKey{}, call.Client)), body))
	a, tally := account(call.Request, answer{status: w.Code, header: w.Result().Header, body: w.Body.Bytes()}, strip)
	n.count(call.Request, tally)
	result := a.code()
	if result == "" {
		result = "ok"
	}
	n.applied(call.line, result)
	return a
}

// serve lets the engine process the request. One that breaks the connection off,
// as a server does, has given no answer.
func (n *Network) serve(w *httptest.ResponseRecorder, r *http.Request) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			w.Code = http.StatusBadGateway
		default:
			panic(p)
		}
	}()
	n.engine.ServeHTTP(w, r)
}

// refused is a refusal as it looks to one request.
func refused(r fault.Refusal, req Request) answer {
	actions, _ := req.Body["TransactItems"].([]any)
	a := answer{status: r.Status(), header: http.Header{"Content-Type": {fault.ContentType}}, body: r.Body(req.Operation, len(actions))}
	a.stamp()
	return a
}

func (a answer) response(req *http.Request) *http.Response {
	return &http.Response{
		Status:        http.StatusText(a.status),
		StatusCode:    a.status,
		Header:        a.header,
		Body:          io.NopCloser(bytes.NewReader(a.body)),
		ContentLength: int64(len(a.body)),
		Request:       req,
	}
}
