package main

import (
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/wake"
)

// bellFlags say whether the processes of this host ring each other.
type bellFlags struct{ noBell bool }

func (f *bellFlags) addFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&f.noBell, "no-bell", false, "do not ring other processes of this host, and look instead of being rung")
}

// hang lets the client of cfg ring and be rung on this host alone, until the function is called that it returns. That sends what is
// pending first.
func (f *bellFlags) hang(cfg *queuelock.Config) (stop func()) {
	if f.noBell {
		return func() {}
	}
	bells, err := wake.New(wake.Config{})
	if err != nil {
		return func() {} // never, without fields
	}
	cfg.Wake = bells
	return func() { _ = bells.Close() }
}
