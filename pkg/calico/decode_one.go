package calico

// DecodeObject reads one resource in JSON, as a server keeps it. Its Problems have no
// lines, which nobody could look up, but the name of the place it is kept at, if that is
// given. The object is nil when nothing is to be kept: with an Error among the Problems
// because it cannot be read, without one because it means nothing here, such as a block
// affinity that is pending.
func DecodeObject(place string, data []byte) (Object, []Problem) {
	d := &decoder{file: place, whole: true}
	roots, ok := readJSON(data)
	if !ok || len(roots) != 1 {
		return nil, []Problem{{Severity: Error, Rule: RuleSyntax, Position: Position{File: place},
			Message: "the value is not one object in JSON; it is left out", Hint: "write it again with calicoctl"}}
	}
	d.document(roots[0], 0)
	if len(d.objects) > 1 {
		d.problems = append(d.problems, Problem{Severity: Error, Rule: RuleSyntax, Position: Position{File: place},
			Message: "the value is a list; it is left out"})
	}
	SortProblems(d.problems)
	if len(d.objects) != 1 {
		return nil, d.problems
	}
	return d.objects[0], d.problems
}
