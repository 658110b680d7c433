package engines

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Handler returns the engine as a handler, for a network in front of it
// (queuelocktest.WithEngine). It signs requests again for their destination.
func (e Engine) Handler(t testing.TB) http.Handler {
	t.Helper()
	r := e.start(t)
	signer := v4.NewSigner()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		response, err := r.forward(signer, req)
		if err != nil {
			panic(http.ErrAbortHandler) // the caller sees a broken connection, as it is
		}
		defer response.Body.Close()
		header := w.Header()
		header["Date"] = nil // the engine's own, or none
		for name, values := range response.Header {
			header[name] = values
		}
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body) // a client that went away loses its answer
	})
}

// forward sends a request on to the engine.
func (r *running) forward(signer *v4.Signer, req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	onward, err := http.NewRequestWithContext(req.Context(), req.Method, aws.ToString(r.options.BaseEndpoint)+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"Content-Type", "X-Amz-Target"} {
		onward.Header.Set(name, req.Header.Get(name))
	}
	credentials, err := r.options.Credentials.Retrieve(req.Context())
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	if err := signer.SignHTTP(req.Context(), credentials, onward, hex.EncodeToString(sum[:]), "dynamodb", r.options.Region, time.Now()); err != nil {
		return nil, err
	}
	return r.options.HTTPClient.Do(onward)
}
