package engines

import (
	"net/http"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// openEmbedded makes an embedded engine, and a client transport that calls it as a function.
func openEmbedded() (*running, error) {
	net := faultnet.New(embedded.New(embedded.Config{}), faultnet.Config{LogLimit: 1, WithoutCapacity: true})
	return &running{options: emulator("http://embedded.invalid", &http.Client{Transport: net.Connect("", nil)})}, nil
}
