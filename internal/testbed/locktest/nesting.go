package locktest

import (
	"bytes"
	"io"
	"net/http"
	"regexp"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/queuelocktest"
)

// WithoutNesting makes a table of an engine that refuses a function within a function.
func WithoutNesting() queuelocktest.Option {
	return queuelocktest.WithEngine(withoutNesting{embedded.New(embedded.Config{})})
}

type withoutNesting struct{ http.Handler }

var nested = regexp.MustCompile(`if_not_exists ?\([^,()]+, ?if_not_exists`)

func (e withoutNesting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err) // it is in memory
	}
	if nested.Match(body) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazon.coral.validate#ValidationException","message":"Invalid UpdateExpression: Syntax error"}`)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	e.Handler.ServeHTTP(w, r)
}
