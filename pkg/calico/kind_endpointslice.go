package calico

// serviceNameLabel ties a slice to its Service.
const serviceNameLabel = "kubernetes.io/service-name"

var sliceRoot = fields[EndpointSlice]{
	"addressType": func(s *EndpointSlice, v value) { s.AddressType = v.essential().oneOf("IPv4", "IPv6", "FQDN") },
	"endpoints": func(s *EndpointSlice, v value) {
		for _, e := range v.entries() {
			endpoint := Endpoint{Ready: true}
			endpointFields.known(&endpoint, e)
			s.Endpoints = append(s.Endpoints, endpoint)
		}
	},
}

var endpointFields = fields[Endpoint]{
	"nodeName": func(e *Endpoint, v value) { e.NodeName, _ = v.text() },
	"conditions": fields[Endpoint]{
		"ready": func(e *Endpoint, v value) { e.Ready, _ = v.or("the endpoint counts as not ready").boolean() },
	}.known,
}

func readEndpointSlice(o *object, m mapping) Object {
	s := &EndpointSlice{}
	sliceRoot.readKnown(s, m)
	s.ServiceName = o.meta.Labels[serviceNameLabel]
	s.Meta = o.meta
	s.Labels, s.Annotations = nil, nil // nothing else of them is used
	return s
}
