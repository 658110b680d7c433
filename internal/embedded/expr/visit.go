package expr

// VisitCondition calls visit with every document path that the condition reads.
func VisitCondition(c Condition, visit func(Path)) {
	operands := func(of ...Operand) {
		for _, o := range of {
			visitOperand(o, visit)
		}
	}
	switch c := c.(type) {
	case And:
		VisitCondition(c.Left, visit)
		VisitCondition(c.Right, visit)
	case Or:
		VisitCondition(c.Left, visit)
		VisitCondition(c.Right, visit)
	case Not:
		VisitCondition(c.Of, visit)
	case Compare:
		operands(c.Left, c.Right)
	case Between:
		operands(c.Of, c.Low, c.High)
	case In:
		operands(c.Of)
		operands(c.Members...)
	case Exists:
		visit(c.Path)
	case HasType:
		operands(c.Of)
	case BeginsWith:
		operands(c.Of, c.Prefix)
	case Contains:
		operands(c.Of, c.Part)
	}
}

// Visit calls visit with every document path that the update reads or writes.
func (u *Update) Visit(visit func(Path)) {
	for _, a := range u.actions {
		visit(a.path)
		visitOperand(a.operand, visit)
	}
}

// Visit calls visit with every document path of the projection.
func (p *Projection) Visit(visit func(Path)) {
	for _, path := range p.paths {
		visit(path)
	}
}

func visitOperand(o Operand, visit func(Path)) {
	switch o := o.(type) {
	case Path:
		visit(o)
	case Size:
		visitOperand(o.Of, visit)
	case IfNotExists:
		visit(o.Path)
		visitOperand(o.Otherwise, visit)
	case ListAppend:
		visitOperand(o.First, visit)
		visitOperand(o.Second, visit)
	case Sum:
		visitOperand(o.Left, visit)
		visitOperand(o.Right, visit)
	}
}
