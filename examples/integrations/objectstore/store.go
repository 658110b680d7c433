package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/queuelock/queuelock/ticket"
)

// errFenced says that a holder with a later ticket has written.
var errFenced = errors.New("a later holder of the lock has written")

// store is a bucket of documents.
type store struct {
	client *s3.Client
	bucket string
}

// document is the content of an object. The token is in the content and not in the
// metadata, because S3 computes the ETag from the content: with the token in it, no two
// holders write the same ETag, so a conditional put never mistakes the one's object for
// the other's.
type document struct {
	Token ticket.Number
	Lines []string
}

// update changes the document by one read and one conditional put. It returns errFenced
// if a later holder has written. An earlier holder may write for the last time between
// the read and the put; update then reads again.
func (s store) update(ctx context.Context, key string, token ticket.Number, change func([]string) ([]string, error)) error {
	var sent []byte
	for {
		body, etag, err := s.load(ctx, key)
		if err != nil {
			return err
		}
		if sent != nil && bytes.Equal(body, sent) {
			return nil // the put was made, its answer was lost, and the SDK's second one was refused
		}
		var doc document
		if err := json.Unmarshal(body, &doc); err != nil {
			return err
		}
		if token.Less(doc.Token) {
			return fmt.Errorf("%s, ticket %s, found ticket %s: %w", key, token, doc.Token, errFenced)
		}
		lines, err := change(doc.Lines)
		if err != nil {
			return err
		}
		if sent, err = json.Marshal(document{token, lines}); err != nil {
			return err
		}
		if err := s.save(ctx, key, sent, etag); !refused(err) {
			return err
		}
	}
}

// load returns the object and its ETag, or an empty document without an ETag if there is
// no such object.
func (s store) load(ctx context.Context, key string) (body []byte, etag *string, err error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	var missing *types.NoSuchKey
	if errors.As(err, &missing) {
		return []byte("{}"), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, out.Body.Close()) }()
	body, err = io.ReadAll(out.Body)
	return body, out.ETag, err
}

// save puts the object if the object is still the one with the ETag, or still missing.
func (s store) save(ctx context.Context, key string, body []byte, etag *string) error {
	put := &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(body), IfMatch: etag}
	if etag == nil {
		put.IfNoneMatch = aws.String("*")
	}
	_, err := s.client.PutObject(ctx, put)
	return err
}

// refused reports whether a put was refused because the object was written, created or
// deleted meanwhile, or is just being written.
func refused(err error) bool {
	var response *awshttp.ResponseError
	if !errors.As(err, &response) {
		return false
	}
	var missing *types.NoSuchBucket
	switch response.HTTPStatusCode() {
	case http.StatusPreconditionFailed, http.StatusConflict:
		return true
	case http.StatusNotFound:
		return !errors.As(err, &missing)
	}
	return false
}
