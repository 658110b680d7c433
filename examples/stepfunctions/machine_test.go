package stepfunctions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// machine is a definition in Amazon States Language, as far as statemachine.asl.json uses it.
type machine struct {
	Comment, StartAt string
	States           map[string]state
}

type state struct {
	Type, Comment, Next string
	// of a Task
	Resource       string
	TimeoutSeconds int
	ResultPath     json.RawMessage // absent: the result is the output; null: the input is
	Retry          []retrier
	Catch          []catcher
	// of a Choice
	Choices []choice
	Default string
	// of a Wait
	Seconds int
	// of a Fail
	ErrorPath, CausePath string
}

type retrier struct {
	ErrorEquals                  []string
	IntervalSeconds, MaxAttempts int
	BackoffRate                  float64
}

type catcher struct {
	ErrorEquals []string
	ResultPath  json.RawMessage
	Next        string
}

type choice struct {
	And []comparison
	comparison
	Next string
}

type comparison struct {
	Variable                 string
	IsPresent, BooleanEquals *bool
}

// loadMachine reads the definition. A field that the interpreter does not know fails the test.
func loadMachine(t *testing.T) machine {
	t.Helper()
	text, err := os.ReadFile("statemachine.asl.json")
	if err != nil {
		t.Fatal(err)
	}
	var m machine
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

// nexts returns the states that may follow.
func (s state) nexts() []string {
	all := []string{s.Next, s.Default}
	for _, c := range s.Choices {
		all = append(all, c.Next)
	}
	for _, c := range s.Catch {
		all = append(all, c.Next)
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// document is the JSON object that goes from state to state.
type document = map[string]any

// task is a function of Lambda.
type task func(ctx context.Context, input []byte) (output []byte, err error)

// failure is how an execution has failed.
type failure struct{ name, cause string }

func (f *failure) Error() string { return f.name + ": " + f.cause }

// execution plays a machine once.
type execution struct {
	machine machine
	tasks   map[string]task   // by Resource
	entered func(name string) // called at each state
	data    document
}

// run returns the error of the state Fail, or that of ctx, which aborts the execution without a Catch.
func (e *execution) run(ctx context.Context) error {
	for name := e.machine.StartAt; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		e.entered(name)
		s := e.machine.States[name]
		switch s.Type {
		case "Task":
			next, err := e.task(ctx, s)
			if err != nil {
				return err
			}
			name = next
		case "Choice":
			name = e.choose(s)
		case "Wait":
			if err := sleep(ctx, time.Duration(s.Seconds)*time.Second); err != nil {
				return err
			}
			name = s.Next
		case "Succeed":
			return nil
		case "Fail":
			return &failure{name: fmt.Sprint(lookUp(e.data, s.ErrorPath)), cause: fmt.Sprint(lookUp(e.data, s.CausePath))}
		default:
			return fmt.Errorf("%s: no state of type %q is known", name, s.Type)
		}
	}
}

// task calls the function, and again as Retry says, and returns the next state.
func (e *execution) task(ctx context.Context, s state) (next string, err error) {
	pause := time.Duration(0)
	for tried := 0; ; tried++ {
		var result any
		if result, err = e.call(ctx, s); err == nil {
			e.put(s.ResultPath, result)
			return s.Next, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if len(s.Retry) == 0 || tried == s.Retry[0].MaxAttempts {
			break
		}
		if pause = time.Duration(float64(pause) * s.Retry[0].BackoffRate); tried == 0 {
			pause = time.Duration(s.Retry[0].IntervalSeconds) * time.Second
		}
		if err := sleep(ctx, pause); err != nil {
			return "", err
		}
	}
	failed := &failure{name: strings.TrimPrefix(fmt.Sprintf("%T", err), "*"), cause: err.Error()}
	if len(s.Catch) == 0 {
		return "", failed
	}
	e.put(s.Catch[0].ResultPath, document{"Error": failed.name, "Cause": failed.cause})
	return s.Catch[0].Next, nil
}

// call calls a function with a copy of the data, as JSON. The function goes on if the execution is aborted.
func (e *execution) call(ctx context.Context, s state) (result any, err error) {
	input, err := json.Marshal(e.data)
	if err != nil {
		return nil, err
	}
	type answer struct {
		output []byte
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		output, err := e.tasks[s.Resource](ctx, input)
		answers <- answer{output, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil {
			return nil, a.err
		}
		return result, json.Unmarshal(a.output, &result)
	case <-time.After(time.Duration(s.TimeoutSeconds) * time.Second):
		return nil, &failure{name: "States.Timeout"}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (e *execution) choose(s state) string {
	for _, c := range s.Choices {
		holds := c.Variable == "" || c.holds(e.data)
		for _, part := range c.And {
			holds = holds && part.holds(e.data)
		}
		if holds {
			return c.Next
		}
	}
	return s.Default
}

func (c comparison) holds(data document) bool {
	value := lookUp(data, c.Variable)
	if c.IsPresent != nil {
		return *c.IsPresent == (value != nil)
	}
	return value == *c.BooleanEquals
}

// put puts a result where ResultPath says.
func (e *execution) put(path json.RawMessage, result any) {
	var p *string
	switch {
	case path == nil:
		e.data = result.(document)
	case json.Unmarshal(path, &p) == nil && p != nil:
		e.data[strings.TrimPrefix(*p, "$.")] = result
	}
}

// lookUp returns what a path of the form $.a.b names, or nil.
func lookUp(data document, path string) any {
	var value any = data
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "$."), ".") {
		object, _ := value.(document)
		value = object[name]
	}
	return value
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
