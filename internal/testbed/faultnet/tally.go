package faultnet

// Tally counts the requests of one operation.
type Tally struct {
	Sent             int     // attempts of clients, whatever became of them
	Applied          int     // requests the engine processed, copies and failed conditions included
	FailedConditions int     // of these, those whose condition did not hold
	ReadUnits        float64 // consumed read capacity
	WriteUnits       float64 // consumed write capacity, that of failed conditions included
}

// Add returns the sum of two tallies.
func (t Tally) Add(o Tally) Tally {
	return Tally{
		Sent:             t.Sent + o.Sent,
		Applied:          t.Applied + o.Applied,
		FailedConditions: t.FailedConditions + o.FailedConditions,
		ReadUnits:        t.ReadUnits + o.ReadUnits,
		WriteUnits:       t.WriteUnits + o.WriteUnits,
	}
}
