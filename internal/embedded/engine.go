package embedded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// Config adjusts an engine. The zero value is a current engine on the real
// clock that deletes nothing by itself.
type Config struct {
	// Now is the engine's clock: the Date header, the expiry of items and of
	// client request tokens. Nil is time.Now.
	Now func() time.Time

	// OmitDate sends no Date header, as an older engine.
	OmitDate bool

	// ExpireItems deletes the items of a table whose TTL attribute lies in the
	// past, when a request touches the table. DynamoDB does so within days; off
	// is a DynamoDB that has not come round to it.
	ExpireItems bool

	// Split, if set, makes transactions commit item by item, as DynamoDB does. It
	// returns the delay of each item; nil lets all of them become visible
	// together. WithSplit overrides it. It is called with the engine's mutex held.
	Split func(items int) []time.Duration

	// Applied, if set, is called for the changes that became visible together,
	// with the request that made them, nil for expired items. It is called with
	// the engine's mutex held: it must send no request, and change no item.
	Applied func(by *http.Request, changes []Change)

	// Journal, if set, keeps what the engine holds. A split transaction is kept item
	// by item, so after a restart a part of one that was not answered may be there.
	Journal Journal
}

// Engine holds the tables. It is made by New and safe for use by several
// goroutines.
type Engine struct {
	cfg Config

	mu       sync.Mutex // guards what follows
	tables   map[string]*table
	requests uint64
	tokens   map[string]tokenUse
	recent   []string // the keys of tokens, the oldest first
	request  *http.Request
	prepared []*prepared // by the time when they become visible
	locked   map[itemID]bool
	changes  []Change // not reported yet
	entries  []Entry  // not handed to the journal yet
	position uint64   // in the journal, of the last that were
}

var _ http.Handler = (*Engine)(nil)

// New makes an engine without tables.
func New(cfg Config) *Engine {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Engine{cfg: cfg, tables: map[string]*table{}, tokens: map[string]tokenUse{}, locked: map[itemID]bool{}}
}

// maxBody is the largest request DynamoDB reads.
const maxBody = 16 << 20

const target = "DynamoDB_20120810."

// operations maps the names on the wire to what does the work, with the
// engine's mutex held.
var operations = map[string]func(*Engine, []byte) (any, error){
	"BatchGetItem":       handle((*Engine).batchGetItem),
	"BatchWriteItem":     handle((*Engine).batchWriteItem),
	"CreateTable":        handle((*Engine).createTable),
	"DeleteItem":         handle((*Engine).deleteItem),
	"DeleteTable":        handle((*Engine).deleteTable),
	"DescribeTable":      handle((*Engine).describeTable),
	"DescribeTimeToLive": handle((*Engine).describeTimeToLive),
	"GetItem":            handle((*Engine).getItem),
	"ListTables":         handle((*Engine).listTables),
	"PutItem":            handle((*Engine).putItem),
	"Query":              handle((*Engine).query),
	"Scan":               handle((*Engine).scan),
	"TransactGetItems":   handle((*Engine).transactGetItems),
	"TransactWriteItems": handle((*Engine).transactWriteItems),
	"UpdateItem":         handle((*Engine).updateItem),
	"UpdateTimeToLive":   handle((*Engine).updateTimeToLive),
}

// handle decodes the request that an operation wants.
func handle[Request any](do func(*Engine, *Request) (any, error)) func(*Engine, []byte) (any, error) {
	return func(e *Engine, body []byte) (any, error) {
		var req *Request
		if err := json.Unmarshal(body, &req); err != nil {
			return nil, err
		}
		if req == nil {
			return nil, value.Malformed("The request is null")
		}
		return do(e, req)
	}
}

// ServeHTTP answers one request.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body []byte
	var err error
	if r.Body != nil {
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	}
	id, status, response := e.respond(r, body, err)
	h := w.Header()
	h.Set("Content-Type", "application/x-amz-json-1.0")
	if isHealthCheck(r) {
		h.Set("Content-Type", "text/plain")
	}
	h.Set("Content-Length", strconv.Itoa(len(response)))
	h.Set("X-Amzn-Requestid", fmt.Sprintf("EMBEDDED%044d", id))
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(response)), 10))
	if e.cfg.OmitDate {
		h["Date"] = nil // keeps net/http from adding one
	} else {
		h.Set("Date", e.cfg.Now().UTC().Format(http.TimeFormat))
	}
	w.WriteHeader(status)
	// A client that went away loses its answer, as with any server.
	_, _ = w.Write(response)
}

// respond performs the request, unless its body could not be read, and returns
// the encoded answer. That of a split transaction comes when all of it is visible,
// and with a Journal each comes when what it depends on is kept.
func (e *Engine) respond(r *http.Request, body []byte, err error) (id uint64, status int, response []byte) {
	if isHealthCheck(r) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.requests++
		return e.requests, http.StatusOK, []byte("healthy: " + r.Host + " ")
	}
	id, out, err := e.perform(r, body, err)
	if c, ok := out.(*commit); ok {
		out = c.answer
		if !e.await(r.Context(), c) {
			// The sender has gone away. If it hears an answer all the same, the
			// outcome is unknown to it.
			return id, http.StatusInternalServerError, encode(errInternal().body())
		}
	}
	if e.keep() != nil {
		return id, http.StatusInternalServerError, encode(errInternal().body())
	}
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return id, http.StatusRequestEntityTooLarge, encode(asFailure(err).body())
	case err != nil:
		return id, http.StatusBadRequest, encode(asFailure(err).body())
	}
	return id, http.StatusOK, encode(out)
}

// perform does the work of one request.
func (e *Engine) perform(r *http.Request, body []byte, err error) (id uint64, out any, failed error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settle()
	e.requests++
	if err != nil {
		return e.requests, nil, err
	}
	e.request = r
	out, err = e.answer(r, body)
	e.report(r)
	e.flush()
	return e.requests, out, err
}

// isHealthCheck reports whether the request is a GET of the root. DynamoDB
// answers it without credentials (test/connection.js of architect/dynalite).
func isHealthCheck(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL != nil && r.URL.Path == "/"
}

// encode writes a response down, with < and > as they are: clients print them.
func encode(out any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		panic("a response always has a JSON form: " + err.Error())
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func (e *Engine) answer(r *http.Request, body []byte) (any, error) {
	name, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), target)
	do := operations[name]
	if !ok || do == nil || r.Method != http.MethodPost {
		return nil, unknownOperation(r)
	}
	return do(e, body)
}

// Items is a snapshot of everything in a table, in the order of a Scan, for
// assertions; nil if there is no such table. The items must not be changed.
func (e *Engine) Items(tableName string) []value.Item {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settle()
	t := e.tables[tableName]
	if t == nil {
		return nil
	}
	items := []value.Item{}
	for _, p := range t.parts {
		for _, row := range p.rows {
			items = append(items, row.item)
		}
	}
	return items
}
