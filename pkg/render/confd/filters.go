package confd

import (
	"fmt"
	"path"
	"strings"

	"github.com/kelseyhightower/memkv"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// filterFunctions is the template function bgpFilterBIRDFuncs: the lines of the functions of
// BGPFilters, of which the template hands in the keys.
func (r *run) filterFunctions(pairs memkv.KVPairs, version int) ([]string, error) {
	v, err := r.view(version)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, kv := range pairs {
		wanted[path.Base(kv.Key)] = true
	}
	var lines []string
	last := ""
	for _, f := range v.Filters {
		if !wanted[f.BGPFilter] {
			continue
		}
		if f.BGPFilter != last {
			last = f.BGPFilter
			lines = append(lines, fmt.Sprintf("# v%d BGPFilter/%s", version, oneLine(last)))
		}
		lines = append(lines, function(f)...)
	}
	if lines == nil {
		lines = []string{fmt.Sprintf("# No v%d BGPFilters", version)}
	}
	return lines, nil
}

// filterFunctionName is the template function of that name: the quoted name of one direction's
// function.
func filterFunctionName(name, direction, version string) (string, error) {
	d := strings.ToLower(direction)
	if d != "import" && d != "export" {
		return "", fmt.Errorf("the direction is import or export, not %q", direction)
	}
	return "'" + bgp.FilterFunctionName(name, d, version) + "'", nil
}

func function(f bgp.FilterFunction) []string {
	parameter := ""
	if f.HasPeerType {
		parameter = "bool is_same_as"
	}
	lines := []string{fmt.Sprintf("function '%s'(%s) {", f.Name, parameter)}
	for _, r := range f.Rules {
		lines = append(lines, "  "+rule(r))
	}
	return append(lines, "}")
}

func rule(r bgp.FilterRule) string {
	var conditions []string
	for _, c := range r.Conditions {
		conditions = append(conditions, condition(c))
	}
	body := ""
	for _, o := range r.Operations {
		body += operation(o) + "; "
	}
	if r.Accept {
		body += "accept;"
	} else {
		body += "reject;"
	}
	if len(conditions) > 0 {
		body = fmt.Sprintf("if (%s) then { %s }", strings.Join(conditions, "&&"), body)
	}
	switch r.PeerType {
	case calico.PeerIBGP:
		return fmt.Sprintf("if (is_same_as) then { %s }", body)
	case calico.PeerEBGP:
		return fmt.Sprintf("if (!is_same_as) then { %s }", body)
	}
	return body
}

var operators = map[calico.MatchOperator]string{calico.MatchEqual: "=", calico.MatchNotEqual: "!=", calico.MatchIn: "~", calico.MatchNotIn: "!~"}

func condition(c bgp.Condition) string {
	switch {
	case c.Prefix != nil && c.Prefix.HasLengths:
		return fmt.Sprintf("(net %s [ %s{%d,%d} ])", operators[c.Prefix.Operator], c.Prefix.Prefix, c.Prefix.Min, c.Prefix.Max)
	case c.Prefix != nil:
		return fmt.Sprintf("(net %s %s)", operators[c.Prefix.Operator], c.Prefix.Prefix)
	case c.FromPeer:
		return "((defined(source))&&(source ~ [ RTS_BGP ]))"
	case c.Interface != "":
		return fmt.Sprintf("((defined(ifname))&&(ifname ~ %q))", c.Interface)
	case c.Community != nil:
		value, attribute := community(*c.Community)
		return fmt.Sprintf("(%s ~ %s)", value, attribute)
	case len(c.ASPathPrefix) > 0:
		path := strings.Trim(fmt.Sprint(c.ASPathPrefix), "[]")
		return fmt.Sprintf("(bgp_path ~ [= %s * =])", path)
	}
	return fmt.Sprintf("(defined(bgp_local_pref)&&(bgp_local_pref = %d))", c.LocalPref)
}

func operation(o bgp.Operation) string {
	switch {
	case o.AddCommunity != nil:
		return addCommunity(*o.AddCommunity)
	case o.PrependAS != 0:
		return fmt.Sprintf("bgp_path.prepend(%d)", o.PrependAS)
	}
	return fmt.Sprintf("bgp_local_pref = %d", o.LocalPref)
}
