// Package npm has the worker that runs the npm package dynamodb-lock-client.
package npm

import _ "embed"

// Worker is the source of worker.js.
//
//go:embed worker.js
var Worker string
