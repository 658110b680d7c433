package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/once"
)

// forecast is what the service returns.
type forecast struct {
	Degrees int       `json:"degrees"`
	Asked   time.Time `json:"asked"`
}

// cache is in front of a service that is slow, or charges for each question. All processes together ask it once in a ttl.
type cache struct {
	locks *queuelock.Client
	ttl   time.Duration
	ask   func(ctx context.Context, city string) (forecast, error)
}

// forecast returns that of a city, which is at most a ttl old, or was asked for while the caller waited.
func (c cache) forecast(ctx context.Context, city string) (f forecast, err error) {
	key := queuelock.Key{Entity: "forecast/" + city, Reason: "cache"}
	text, err := once.Do(ctx, c.locks, key, c.ttl, func(ctx context.Context, _ *queuelock.Lock) ([]byte, error) {
		f, err := c.ask(ctx, city)
		if err != nil {
			return nil, err
		}
		return json.Marshal(f)
	})
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(text, &f)
}
