package calico

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// parseASNumber reads an AS number, plain or in the form HIGH.LOW of RFC 5396.
func parseASNumber(s string) (uint32, *fault) {
	high, low, dotted := strings.Cut(s, ".")
	if !dotted {
		n, ok := parseDecimal(s)
		switch {
		case ok && n <= math.MaxUint32:
			return uint32(n), nil
		case ok || s != "" && strings.Trim(s, "0123456789") == "" && s[0] != '0':
			return 0, &fault{RuleRange, "is outside 1 to 4294967295", ""}
		}
	}
	h, ok1 := parseDecimal(high)
	l, ok2 := parseDecimal(low)
	if dotted && ok1 && ok2 && h <= math.MaxUint16 && l <= math.MaxUint16 {
		return uint32(h<<16 | l), nil
	}
	return 0, &fault{RuleWrongType, "is not an AS number", `write 1 to 4294967295, or in quotes two numbers up to 65535 with a dot, as in "1.10"`}
}

// asNumber reads an AS number other than 0; 0 if it is bad.
func (v value) asNumber() uint32 {
	n, ok := v.asNumberOrZero()
	if ok && n == 0 {
		v.refuse(v.node.Value, &fault{RuleRange, "is outside 1 to 4294967295", ""})
	}
	return n
}

// asNumberOrZero reads an AS number where 0 is the same as none.
func (v value) asNumberOrZero() (uint32, bool) {
	kind, s := v.typeName(), v.node.Value
	switch {
	case kind == aNumber && strings.Contains(s, "."):
		v.refuse(s, &fault{RuleWrongType, "is not an AS number: without quotes it is a fraction", "put it in quotes: " + strconv.Quote(clip(s))})
		return 0, false
	case kind == aNumber && strings.HasPrefix(s, "-"):
		v.refuse(s, &fault{RuleRange, "is outside 1 to 4294967295", ""})
		return 0, false
	case kind != aNumber && kind != aText:
		v.wrongType("an AS number", "")
		return 0, false
	}
	n, f := parseASNumber(s)
	if f != nil {
		v.refuse(s, f)
		return 0, false
	}
	return n, true
}

// asNumbers reads a list of AS numbers.
func (v value) asNumbers() []uint32 {
	var path []uint32
	for _, e := range v.entries() {
		if n := e.asNumber(); n != 0 {
			path = append(path, n)
		}
	}
	return path
}

// maxRestartSeconds is the longest restart time that fits the 12 bits of RFC 4724.
const maxRestartSeconds = 4095

func (v value) restartTime() *time.Duration { return v.seconds(0, maxRestartSeconds, "RFC 4724") }

var (
	waitForm = regexp.MustCompile(`^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$`)
	maxWait  = 18 * time.Hour
)

const waitHint = "write for example 45s or 1m30s"

// parseWait reads a graceful restart wait: whole hours, minutes and seconds, each at
// most once and in this order. That is stricter than Go's durations, because every other
// form has been tried by someone who then got something else than meant; and short of
// what makes BIRD's timer overflow.
func parseWait(s string) (time.Duration, *fault) {
	parts := waitForm.FindStringSubmatch(s)
	if s == "" || parts == nil {
		return 0, &fault{RuleDuration, "is not a duration of whole hours, minutes and seconds from 0s to 18h", waitHint}
	}
	var total time.Duration
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
		n, err := strconv.ParseUint(cmp.Or(parts[i+1], "0"), 10, 64)
		if err != nil || n > uint64(maxWait/unit) {
			total = maxWait + 1
			break
		}
		total += time.Duration(n) * unit
	}
	if total > maxWait {
		return 0, &fault{RuleRange, "is outside 0s to 18h", waitHint}
	}
	return total, nil
}

// wait reads a graceful restart wait; nil if it is bad.
func (v value) wait() *time.Duration {
	s, ok := v.scalar()
	if !ok {
		return nil
	}
	d, f := parseWait(s)
	if f != nil {
		v.refuse(s, f)
		return nil
	}
	return &d
}

var communityForm = regexp.MustCompile(`^\d+:\d+(?::\d+)?$`)

// String gives the community as it is written in resources: A:B or A:B:C.
func (c Community) String() string {
	if c.Large {
		return fmt.Sprintf("%d:%d:%d", c.Parts[0], c.Parts[1], c.Parts[2])
	}
	return fmt.Sprintf("%d:%d", c.Parts[0], c.Parts[1])
}

// parseCommunity reads a standard or a large community.
func parseCommunity(s string) (Community, *fault) {
	if !communityForm.MatchString(s) {
		return Community{}, &fault{RuleCommunity, "is not a community", "write two numbers as in 64500:100, or three as in 64500:1:2"}
	}
	parts := strings.Split(s, ":")
	c := Community{Large: len(parts) == 3}
	bits, most := 16, math.MaxUint16
	if c.Large {
		bits, most = 32, math.MaxUint32
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, bits)
		if err != nil {
			return Community{}, &fault{RuleCommunity, fmt.Sprintf("is not a community of %d numbers up to %d", len(parts), most), ""}
		}
		c.Parts[i] = uint32(n)
	}
	return c, nil
}

// community reads a community, in the one form that a BGPFilter takes: without needless
// zeros. It is nil if it is bad.
func (v value) community() *Community {
	s, ok := v.text()
	if !ok {
		return nil
	}
	c, f := parseCommunity(s)
	if f == nil && c.String() != s {
		f = &fault{RuleCommunity, "is not a community without needless zeros", "write " + c.String()}
	}
	if f != nil {
		v.refuse(s, f)
		return nil
	}
	return &c
}

// priority reads a route priority, a kernel metric; 0 if it is bad.
func (v value) priority() uint32 {
	const most = math.MaxInt32 - 1
	n, _ := v.integer(1, most)
	return uint32(n)
}

// secretRefFields are those of secretKeyRef, passwordFields those of the field around it.
var (
	secretRefFields = fields[SecretKeyRef]{
		"name":     func(r *SecretKeyRef, v value) { r.Name = v.name() },
		"key":      func(r *SecretKeyRef, v value) { r.Key = v.secretKey() },
		"optional": func(_ *SecretKeyRef, v value) { v.boolean() },
	}
	passwordFields = fields[*SecretKeyRef]{
		"secretKeyRef": func(r **SecretKeyRef, v value) {
			*r = &SecretKeyRef{}
			m := v.mapping()
			secretRefFields.readFrom(*r, m)
			m.require("name", "key")
		},
	}
)

var secretKeyForm = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)

// secretKey reads the name of a key in a Secret; "" if it is bad.
func (v value) secretKey() string {
	s, ok := v.text()
	if ok && !secretKeyForm.MatchString(s) {
		v.refuse(s, &fault{RuleName, "is not the name of a key in a Secret", ""})
		return ""
	}
	return s
}

// password reads a reference to a password. It is never nil: one that is bad has no
// name and no key, so that nobody takes it for a session without password. Nothing that
// stands in it is quoted, as it may be the password itself.
func (v value) password() *SecretKeyRef {
	lost := false
	outer := v.fate.lost
	v.hush = true
	v.fate = fate{text: v.fate.text, lost: &lost, whole: true}
	var ref *SecretKeyRef
	passwordFields.read(&ref, v)
	if ref == nil && !lost {
		v.missing("secretKeyRef", "")
	}
	if !lost {
		return ref
	}
	if outer != nil {
		*outer = true
	}
	return &SecretKeyRef{}
}
