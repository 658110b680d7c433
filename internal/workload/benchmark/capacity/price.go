package capacity

// The public prices of DynamoDB's on-demand mode and of the standard table class, in US
// dollars. Other regions, other table classes and provisioned capacity have others.
// https://aws.amazon.com/dynamodb/pricing/on-demand/
const (
	PriceRegion = "us-east-1"
	PriceSince  = "1 November 2024"

	PriceWriteUnits = 0.625 // for a million
	PriceReadUnits  = 0.125 // for a million
	PriceStorage    = 0.25  // for a GB for a month; the first 25 GB of an account are free
)

// ItemOverhead is what DynamoDB adds to the size of each item, in bytes, for the price
// of storage.
const ItemOverhead = 100

// Price returns the price of the units, in US dollars.
func (c Count) Price() float64 {
	return (c.WriteUnits*PriceWriteUnits + c.ReadUnits*PriceReadUnits) / 1e6
}
