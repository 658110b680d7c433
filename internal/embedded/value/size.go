package value

// Size is the number of bytes DynamoDB counts for the item: the lengths of its
// attribute names and values with the overhead of each type. Rules:
// docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
func (i Item) Size() int {
	total := 0
	for name, v := range i {
		total += len(name) + v.Size()
	}
	return total
}

// containerOverhead is what a map or a list costs beside its elements, each of
// which costs one byte more than its contents.
const containerOverhead = 3

// Size is the number of bytes DynamoDB counts for the value alone.
func (v Value) Size() int {
	switch v.Kind {
	case String, Binary:
		return len(v.Text)
	case Num:
		return v.Number.Size()
	case Map:
		return containerOverhead + len(v.Fields) + v.Fields.Size()
	case List:
		total := containerOverhead + len(v.Elems)
		for _, e := range v.Elems {
			total += e.Size()
		}
		return total
	case StringSet, NumberSet, BinarySet:
		total := 0
		for _, e := range v.Elems {
			total += e.Size()
		}
		return total
	}
	return 1 // BOOL and NULL
}

// Size returns one byte, one more for each pair of digits with a significant
// digit in it, and one more for a minus sign. Pairs are counted outwards from the
// decimal point, so 12 has one pair, and 1.2 and 120 have two. The documentation
// gives this approximately. The pairs are what architect/dynalite (db/index.js)
// and zaccharles/dynamodb-calculator found on the service, and they agree with
// all sizes that nubo-db/dynoxide measured there to the byte (src/types.rs).
func (n Number) Size() int {
	if n.digits == "" {
		return 1
	}
	first, last := (n.exp+len(n.digits)-1)>>1, n.exp>>1
	size := first - last + 2
	if n.neg {
		size++
	}
	return size
}
