package calico

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

var filterRoot = root(filterFields.section, skip[BGPFilter])

var filterFields = fields[BGPFilter]{
	"importV4": func(f *BGPFilter, v value) { f.ImportV4 = v.rules(4) },
	"exportV4": func(f *BGPFilter, v value) { f.ExportV4 = v.rules(4) },
	"importV6": func(f *BGPFilter, v value) { f.ImportV6 = v.rules(6) },
	"exportV6": func(f *BGPFilter, v value) { f.ExportV6 = v.rules(6) },
}

func readBGPFilter(o *object, m mapping) Object {
	f := &BGPFilter{}
	filterRoot.readFrom(f, m)
	o.checkOwnAnnotations()
	f.Meta = o.meta
	return f
}

// ruleReader is a rule while it is read.
type ruleReader struct {
	FilterRule
	family             family
	minLength          *int
	maxLength          *int
	hasLength, hasCIDR bool
}

var ruleFields = fields[ruleReader]{
	"action":        skip[ruleReader], // read before all others
	"cidr":          func(r *ruleReader, v value) { r.Prefix, r.hasCIDR = v.prefix(r.family), true },
	"matchOperator": func(r *ruleReader, v value) { r.Match = MatchOperator(v.oneOf(matchWords...)) },
	"prefixLength": func(r *ruleReader, v value) {
		r.hasLength = true
		lengthFields.read(r, v)
	},
	"source":       func(r *ruleReader, v value) { r.RemotePeersOnly = v.oneOf("RemotePeers") != "" },
	"interface":    func(r *ruleReader, v value) { r.Interface = v.interfacePattern() },
	"peerType":     func(r *ruleReader, v value) { r.PeerType = PeerType(v.oneOf(string(PeerEBGP), string(PeerIBGP))) },
	"communities":  sole("values", communityMatch),
	"asPathPrefix": func(r *ruleReader, v value) { r.ASPathPrefix = v.asNumbers() },
	"priority":     func(r *ruleReader, v value) { r.Priority = v.priority() },
	"operations": func(r *ruleReader, v value) {
		if !r.Accept {
			v.report(Error, RuleConflict, "only a rule that accepts has operations; they are ignored, the rule still rejects", "")
			return
		}
		r.Operations = v.operations()
	},
}

var matchWords = []string{string(MatchEqual), string(MatchNotEqual), string(MatchIn), string(MatchNotIn)}

var lengthFields = fields[ruleReader]{
	"min": func(r *ruleReader, v value) { r.minLength = v.length(r.family) },
	"max": func(r *ruleReader, v value) { r.maxLength = v.length(r.family) },
}

// communityMatch reads the one community that a rule matches.
func communityMatch(r *ruleReader, v value) {
	n := 0
	for _, e := range v.entries() {
		r.Community = e.community()
		n++
	}
	if n != 1 && v.node.Kind == yaml.SequenceNode {
		v.bad(RuleCommunity, fmt.Sprintf("there are %d communities where a rule takes exactly one", n), "write one rule for each")
	}
}

// bits is the length of an address.
func (f family) bits() int {
	if f == 4 {
		return 32
	}
	return 128
}

func (v value) length(f family) *int {
	u, ok := v.integer(0, uint64(f.bits()))
	if !ok {
		return nil
	}
	n := int(u)
	return &n
}

// rules reads a list of rules. A bad rule is left out as a whole, since with one of its
// conditions missing it would match more than meant.
func (v value) rules(f family) []FilterRule {
	var out []FilterRule
	for _, e := range v.entries() {
		lost := false
		e.fate = fate{lost: &lost, whole: true, strict: true}
		if r := e.rule(f); !lost {
			out = append(out, r.FilterRule)
		}
	}
	return out
}

// ruleFate says what a peer gets without a rule.
func ruleFate(verb string) string {
	return "the rule is left out; prefixes it meant to " + verb + " go on to the rules after it"
}

func (v value) rule(f family) *ruleReader {
	r := &ruleReader{family: f}
	r.Field = v.path
	v = v.or(ruleFate("match"))
	m := v.mapping()
	m.require("action")
	if action, ok := m.get("action"); ok {
		word := action.oneOf("Accept", "Reject")
		r.Accept = word == "Accept"
		if word != "" {
			m.value = m.value.or(ruleFate(strings.ToLower(word)))
		}
	}
	ruleFields.readFrom(r, m)
	if !*v.fate.lost {
		r.check(m)
	}
	return r
}

// check applies the rules between fields.
func (r *ruleReader) check(m mapping) {
	length := m.field("prefixLength")
	switch {
	case r.hasCIDR && r.Match == "":
		m.missing("matchOperator", "a cidr needs one of "+strings.Join(matchWords, ", "))
	case !r.hasCIDR && r.Match != "":
		m.missing("cidr", "a matchOperator needs one")
	case r.hasLength && !r.hasCIDR:
		m.missing("cidr", "a prefixLength needs one")
	case r.minLength == nil && r.maxLength == nil:
	case r.Match != MatchIn && r.Match != MatchNotIn:
		length.bad(RulePrefixLength, fmt.Sprintf("a prefixLength has no meaning with matchOperator %s", r.Match), "use In or NotIn, or remove prefixLength")
	default:
		r.clamp(length)
	}
}

// clamp makes the bounds on lengths complete: nothing inside a prefix is shorter than
// it, nor longer than an address.
func (r *ruleReader) clamp(v value) {
	shortest, longest := r.Prefix.Bits(), r.family.bits()
	low, high := shortest, longest
	if r.minLength != nil {
		low = max(low, *r.minLength)
	}
	if r.maxLength != nil {
		high = *r.maxLength
	}
	switch {
	case high < shortest:
		v.bad(RulePrefixLength, fmt.Sprintf("max %d is shorter than the cidr %s, so it matches nothing", high, r.Prefix), "")
	case low > high:
		v.bad(RulePrefixLength, fmt.Sprintf("min %d is above max %d, so it matches nothing", low, high), "")
	default:
		r.HasLengths, r.MinLength, r.MaxLength = true, low, high
	}
}

// maxOperations is how many operations, and maxPrepended how many AS numbers in one, an
// API server takes.
const (
	maxOperations = 10
	maxPrepended  = 10
)

var operationFields = fields[FilterOperation]{
	"addCommunity":  sole("value", func(op *FilterOperation, v value) { op.AddCommunity = v.community() }),
	"prependASPath": sole("prefix", func(op *FilterOperation, v value) { op.PrependASPath = v.prepended() }),
	"setPriority":   sole("value", func(op *FilterOperation, v value) { op.SetPriority = v.priority() }),
}

// sole reads a mapping that has one field, and must have it.
func sole[T any](name string, into func(*T, value)) func(*T, value) {
	f := fields[T]{name: into}
	return func(t *T, v value) {
		m := v.mapping()
		f.readFrom(t, m)
		m.require(name)
	}
}

func (v value) prepended() []uint32 {
	path := v.asNumbers()
	if v.node.Kind == yaml.SequenceNode && len(v.node.Content) == 0 {
		v.bad(RuleMissingField, "there is nothing to prepend", "")
	}
	v.limit(len(path), maxPrepended, "AS numbers")
	return path
}

func (v value) operations() []FilterOperation {
	var out []FilterOperation
	for _, e := range v.entries() {
		var op FilterOperation
		m := e.mapping()
		operationFields.readFrom(&op, m)
		n := 0
		for _, p := range m.pairs {
			if !m.of(p).null() {
				n++
			}
		}
		if n != 1 && e.node.Kind == yaml.MappingNode {
			e.bad(RuleConflict, fmt.Sprintf("an operation is exactly one of addCommunity, prependASPath and setPriority, not %d", n), "write one list entry for each")
		}
		out = append(out, op)
	}
	v.limit(len(out), maxOperations, "operations")
	return out
}
