package calico

// affinityReader is a BlockAffinity while it is read.
type affinityReader struct {
	BlockAffinity
	gone bool // pending, deleted, or not of a host
}

var affinityRoot = root(affinityFields.section, skip[affinityReader])

// affinityFields are all essential: a block announced by the wrong node, or for want of
// a state by two, is a black hole.
var affinityFields = fields[affinityReader]{
	"cidr": func(a *affinityReader, v value) { a.CIDR = v.essential().prefix(0) },
	"node": func(a *affinityReader, v value) { a.Node = v.essential().nameOrEmpty() },
	"state": func(a *affinityReader, v value) {
		switch s := v.essential().emptyOr("confirmed", "pending", "pendingDeletion"); s {
		case "pending":
			a.gone = true
		case "pendingDeletion":
			a.State = AffinityPendingDeletion
		}
	},
	"type": func(a *affinityReader, v value) {
		a.gone = v.essential().emptyOr("host", "virtual") == "virtual" || a.gone
	},
	"deleted": func(a *affinityReader, v value) {
		v = v.essential()
		if v.o.version == calicoV1 {
			a.gone = v.emptyOr("true", "false") == "true" || a.gone
			return
		}
		deleted, _ := v.boolean()
		a.gone = deleted || a.gone
	},
}

func readBlockAffinity(o *object, m mapping) Object {
	a := &affinityReader{BlockAffinity: BlockAffinity{State: AffinityConfirmed}}
	affinityRoot.readFrom(a, m)
	switch {
	case o.lost:
	case !a.CIDR.IsValid():
		o.reject(RuleMissingField, "spec.cidr", "the field is required", "")
	case a.Node == "":
		o.reject(RuleMissingField, "spec.node", "the field is required", "")
	}
	if o.lost || a.gone {
		return nil
	}
	a.Meta = o.meta
	a.Labels, a.Annotations = nil, nil // nothing selects affinities
	return &a.BlockAffinity
}

// emptyOr is oneOf where the empty text is allowed, too.
func (v value) emptyOr(words ...string) string {
	if v.node.Value == "" && v.typeName() == aText {
		return ""
	}
	return v.oneOf(words...)
}
