package calico

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
)

// configReader is a BGPConfiguration while it is read.
type configReader struct {
	BGPConfiguration
	node        bool // for one node, so that most fields have no effect
	communities []namedCommunity
	adverts     []advert
}

var configRoot = root(configFields.section, skip[configReader])

var configFields = fields[configReader]{
	"logSeverityScreen":              func(c *configReader, v value) { c.LogLevel = v.logLevel() },
	"nodeToNodeMeshEnabled":          global(func(c *configReader, v value) { c.NodeToNodeMeshEnabled = v.optionalBool() }),
	"asNumber":                       global(func(c *configReader, v value) { c.ASNumber = v.asNumber() }),
	"serviceClusterIPs":              global(func(c *configReader, v value) { c.ServiceClusterIPs = v.serviceRanges() }),
	"serviceExternalIPs":             global(func(c *configReader, v value) { c.ServiceExternalIPs = v.serviceRanges() }),
	"serviceLoadBalancerIPs":         global(func(c *configReader, v value) { c.ServiceLoadBalancerIPs = v.serviceRanges() }),
	"communities":                    func(c *configReader, v value) { c.communities = v.namedCommunities() },
	"prefixAdvertisements":           func(c *configReader, v value) { c.adverts = v.adverts() },
	"listenPort":                     func(c *configReader, v value) { n, _ := v.integer(1, math.MaxUint16); c.ListenPort = uint16(n) },
	"nodeMeshPassword":               global(readMeshPassword),
	"nodeMeshMaxRestartTime":         global(func(c *configReader, v value) { c.NodeMeshMaxRestartTime = v.restartTime() }),
	"bindMode":                       global(func(c *configReader, v value) { c.BindToNodeIP = v.oneOf("None", "NodeIP") == "NodeIP" }),
	"ignoredInterfaces":              global(func(c *configReader, v value) { c.IgnoredInterfaces = v.ignoredInterfaces() }),
	"localWorkloadPeeringIPV4":       global(func(_ *configReader, v value) { v.addr(4) }),
	"localWorkloadPeeringIPV6":       global(func(_ *configReader, v value) { v.addr(6) }),
	"ipv4NormalRoutePriority":        global(func(c *configReader, v value) { c.IPv4NormalRoutePriority = v.priority() }),
	"ipv6NormalRoutePriority":        global(func(c *configReader, v value) { c.IPv6NormalRoutePriority = v.priority() }),
	"gracefulRestartWait":            func(c *configReader, v value) { c.GracefulRestartWait = v.wait() },
	"gracefulRestartWaitFor":         func(c *configReader, v value) { c.GracefulRestartWaitFor = WaitFor(v.oneOf(waitForWords...)) },
	"programClusterRoutes":           global(readProgramClusterRoutes),
	"serviceLoadBalancerAggregation": readAggregation,
}

var waitForWords = []string{string(WaitForReadyNodes), string(WaitForAllPeers)}

// global wraps the readers of fields that have no effect for a single node.
func global(into func(*configReader, value)) func(*configReader, value) {
	return func(c *configReader, v value) {
		if c.node {
			v.report(Warning, RuleIgnoredField, "the field has no effect for one node; it is ignored", "set it in the BGPConfiguration named default")
			return
		}
		into(c, v)
	}
}

// readAggregation is silent about the value that an API server writes into every
// object, those of single nodes too.
func readAggregation(c *configReader, v value) {
	if c.node && v.node.Value == "Enabled" {
		return
	}
	global(func(c *configReader, v value) {
		c.ServiceAggregationDisabled = v.oneOf("Enabled", "Disabled") == "Disabled"
	})(c, v)
}

func readProgramClusterRoutes(c *configReader, v value) {
	c.ProgramClusterRoutes = ProgramClusterRoutes(v.oneOf(string(ProgramEnabled), string(ProgramDisabled),
		string(ProgramIPIPOnly), string(ProgramNoEncapOnly)))
}

func readMeshPassword(c *configReader, v value) {
	c.NodeMeshPassword = v.or("the mesh is held back, as it must not run without its password").password()
}

func readBGPConfiguration(o *object, m mapping) Object {
	node, isNode := strings.CutPrefix(o.meta.Name, "node.")
	if o.meta.Name != "default" && (!isNode || node == "") {
		o.report(Warning, RuleIgnoredName, "metadata.name", "only default and node.NAME have an effect; this one is ignored",
			DidYouMean(o.meta.Name, []string{"default"}))
		return nil
	}
	c := configReader{node: isNode}
	configRoot.readFrom(&c, m)
	c.PrefixAdvertisements = c.resolve()
	o.readOwnAnnotations(&c.BGPConfiguration)
	o.checkConfig(&c)
	c.Meta = o.meta
	return &c.BGPConfiguration
}

// checkConfig warns of fields that have no effect in this company.
func (o *object) checkConfig(c *configReader) {
	off := c.NodeToNodeMeshEnabled != nil && !*c.NodeToNodeMeshEnabled
	for _, check := range []struct {
		idle       bool
		field, why string
	}{
		{off && c.NodeMeshPassword != nil, "spec.nodeMeshPassword", "the mesh is switched off"},
		{off && c.NodeMeshMaxRestartTime != nil, "spec.nodeMeshMaxRestartTime", "the mesh is switched off"},
		{len(c.communities) > 0 && len(c.adverts) == 0, "spec.communities", "there are no prefixAdvertisements"},
	} {
		if check.idle {
			o.report(Warning, RuleIgnoredField, check.field, "the field has no effect: "+check.why, "")
		}
	}
}

// logLevel reads a severity of Calico and gives what BIRD is asked for.
func (v value) logLevel() LogLevel {
	severities := []string{"Trace", "Debug", "Info", "Warning", "Error", "Fatal"}
	s, ok := v.text()
	switch {
	case !ok || s == "":
		return ""
	case !slices.ContainsFunc(severities, func(w string) bool { return strings.EqualFold(s, w) }):
		v.refuse(s, notOneOf(s, severities))
		return ""
	case strings.EqualFold(s, "Debug"):
		return LogDebug
	case strings.EqualFold(s, "Info"):
		return LogInfo
	}
	return LogNone
}

// serviceRange is an entry of a list of service addresses while it is read.
type serviceRange struct{ prefix netip.Prefix }

var serviceRangeFields = fields[serviceRange]{
	"cidr": func(r *serviceRange, v value) {
		// Calico skips empty ones, and people have them.
		if v.node.Value != "" || v.typeName() != aText {
			r.prefix = v.prefixOrAddr()
		}
	},
}

func (v value) serviceRanges() []ServiceRange {
	var out []ServiceRange
	for _, e := range v.entries() {
		if e.null() {
			continue
		}
		var r serviceRange
		e.fate.whole = true
		serviceRangeFields.read(&r, e)
		if r.prefix.IsValid() {
			if r.prefix.Bits() == 0 {
				e.report(Warning, RulePrefix, r.prefix.String()+" is every address: all routes are announced, and none gets into the kernel", "is the length missing?")
			}
			out = append(out, ServiceRange{Prefix: r.prefix, Field: e.path})
		}
	}
	return out
}

// ignoredInterfaces reads patterns, each once.
func (v value) ignoredInterfaces() []string {
	var out []string
	for _, e := range v.entries() {
		s := e.interfacePattern()
		switch {
		case s == "":
		case s == "*":
			e.refuse(s, &fault{RuleInterface, "would ignore all interfaces", ""})
		case slices.Contains(out, s):
			e.report(Warning, RuleInterface, fmt.Sprintf("%s stands in the list already", quote(s)), "")
		default:
			out = append(out, s)
		}
	}
	return out
}
