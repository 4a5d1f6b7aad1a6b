package calico

import "net/netip"

var serviceRoot = fields[Service]{"spec": serviceFields.known, "status": serviceStatusFields.known}

var serviceFields = fields[Service]{
	// Types decide whether there is anything to announce at all.
	"type": func(s *Service, v value) {
		s.Type = v.essential().oneOf("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
	},
	"clusterIP":  func(s *Service, v value) { s.ClusterIP, _ = v.text() },
	"clusterIPs": func(s *Service, v value) { s.ClusterIPs = v.addrs() },
	"externalIPs": func(s *Service, v value) {
		v.o.note(v.path, v.position())
		s.ExternalIPs = v.addrs()
	},
	"loadBalancerIP":        func(s *Service, v value) { s.LoadBalancerIP = v.addr(0) },
	"externalTrafficPolicy": func(s *Service, v value) { s.ExternalTrafficPolicy = v.emptyOr("Cluster", "Local") },
	"ipFamilies": func(s *Service, v value) {
		for _, e := range v.entries() {
			if f := e.oneOf("IPv4", "IPv6"); f != "" {
				s.IPFamilies = append(s.IPFamilies, f)
			}
		}
	},
}

var serviceStatusFields = fields[Service]{
	"loadBalancer": fields[Service]{"ingress": readIngress}.known,
}

// readIngress skips entries that have a host name only.
func readIngress(s *Service, v value) {
	v.o.note(v.path, v.position())
	for _, e := range v.entries() {
		ingressFields.known(s, e)
	}
}

var ingressFields = fields[Service]{
	"ip": func(s *Service, v value) {
		if a := v.with(leftOut).addr(0); a.IsValid() {
			s.IngressIPs = append(s.IngressIPs, a)
		}
	},
}

// addrs reads a list of addresses. The word None, which headless Services have, is none.
func (v value) addrs() []netip.Addr {
	var out []netip.Addr
	for _, e := range v.entries() {
		if e.node.Value == "None" {
			continue
		}
		if a := e.addr(0); a.IsValid() {
			out = append(out, a)
		}
	}
	return out
}

func readService(o *object, m mapping) Object {
	s := &Service{Type: "ClusterIP"}
	serviceRoot.readKnown(s, m)
	s.Meta = o.meta
	s.Labels, s.Annotations = nil, nil // nothing selects Services
	return s
}
