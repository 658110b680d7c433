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

// Size is one byte for every two significant digits and one more. The
// documentation calls that approximate; the byte for a minus sign is what the
// service has been observed to add.
func (n Number) Size() int {
	size := (len(n.digits)+1)/2 + 1
	if n.neg {
		size++
	}
	return size
}
