package engines

import (
	"net/http"
	"net/http/httptest"

	"github.com/queuelock/queuelock/internal/embedded"
)

// openEmbedded makes an embedded engine, and a client transport that calls it as a function.
func openEmbedded() (*running, error) {
	direct := inProcess{embedded.New(embedded.Config{})}
	return &running{options: emulator("http://embedded.invalid", &http.Client{Transport: direct})}, nil
}

// inProcess carries requests to a handler in this process.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	served := req.Clone(req.Context())
	if served.Body == nil {
		served.Body = http.NoBody // a server's request always has one
	}
	defer served.Body.Close()
	recorder := httptest.NewRecorder()
	p.handler.ServeHTTP(recorder, served)
	response := recorder.Result()
	response.Request = req
	return response, nil
}
