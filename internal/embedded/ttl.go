package embedded

import (
	"time"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

type describeTimeToLiveRequest struct{ TableName string }

type timeToLiveDescription struct {
	AttributeName    string `json:",omitempty"`
	TimeToLiveStatus string
}

func (e *Engine) describeTimeToLive(req *describeTimeToLiveRequest) (any, error) {
	t, err := e.named(req.TableName)
	if err != nil {
		return nil, err
	}
	d := timeToLiveDescription{AttributeName: t.ttl, TimeToLiveStatus: "DISABLED"}
	if t.ttl != "" {
		d.TimeToLiveStatus = "ENABLED"
	}
	return map[string]any{"TimeToLiveDescription": d}, nil
}

type timeToLiveSpecification struct {
	AttributeName string
	Enabled       *bool
}

type updateTimeToLiveRequest struct {
	TableName               string
	TimeToLiveSpecification *timeToLiveSpecification
}

// updateTimeToLive takes effect at once. DynamoDB refuses another change within
// an hour or so; this engine does not, so that tests may change their mind.
func (e *Engine) updateTimeToLive(req *updateTimeToLiveRequest) (any, error) {
	t, err := e.named(req.TableName)
	if err != nil {
		return nil, err
	}
	spec := req.TimeToLiveSpecification
	switch {
	case spec == nil:
		return nil, absent("timeToLiveSpecification")
	case spec.Enabled == nil:
		return nil, absent("timeToLiveSpecification.enabled")
	case spec.AttributeName == "":
		return nil, absent("timeToLiveSpecification.attributeName")
	case len(spec.AttributeName) > 255:
		return nil, constraint(spec.AttributeName, "timeToLiveSpecification.attributeName", "Member must have length less than or equal to 255")
	case t.ttl != "" && t.ttl != spec.AttributeName:
		return nil, invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.ttl)
	case *spec.Enabled && t.ttl != "":
		return nil, invalid("TimeToLive is already enabled")
	case !*spec.Enabled && t.ttl == "":
		return nil, invalid("TimeToLive is already disabled")
	}
	t.ttl = ""
	if *spec.Enabled {
		t.ttl = spec.AttributeName
	}
	e.changed(TableEntry, t.name, "", t.kept())
	return map[string]any{"TimeToLiveSpecification": spec}, nil
}

// ttlHorizon is how far in the past a TTL attribute may lie and still count:
// docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html
const ttlHorizon = 5 * 365 * 24 * time.Hour

// expire deletes the items whose time has passed. A TTL attribute that is no
// number of seconds, or implausibly old, expires nothing. An item of an ongoing
// transaction stays until the next time.
func (e *Engine) expire(t *table) {
	if t.ttl == "" {
		return
	}
	now := e.cfg.Now()
	var expired []change
	for _, p := range t.parts {
		for _, r := range p.rows {
			v, ok := r.item[t.ttl]
			if !ok || v.Kind != value.Num {
				continue
			}
			if s, ok := v.Number.Seconds(); ok && s < now.Unix() && s > now.Add(-ttlHorizon).Unix() {
				expired = append(expired, change{table: t, key: t.keyOf(r.item), delete: true})
			}
		}
	}
	for _, c := range expired {
		if !e.locked[c.id()] {
			e.store(c, nil)
		}
	}
	e.report(nil)
}
