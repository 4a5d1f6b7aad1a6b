package kube

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// slim is what is left of an object: who it is, and in JSON those of its fields that are used.
// Two objects with the same JSON mean the same here, whatever else has changed.
type slim struct {
	metav1.ObjectMeta
	data []byte
	// kept tells that it has a field of ours, and dropped that somebody has asked for one which
	// the server has dropped.
	kept, dropped bool
}

// key names an object within its kind.
func (s *slim) key() string {
	if s.Namespace == "" {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

// document is a resource as package calico reads it.
type document struct {
	APIVersion  string            `json:"apiVersion"`
	Kind        string            `json:"kind"`
	Metadata    metadata          `json:"metadata"`
	Spec        any               `json:"spec,omitempty"`
	Status      any               `json:"status,omitempty"`
	Data        map[string][]byte `json:"data,omitempty"`
	AddressType string            `json:"addressType,omitempty"`
	Endpoints   []endpoint        `json:"endpoints,omitempty"`
}

type metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// cut makes an object slim. It takes what watches and lists have, and what is slim already.
func cut(o any) (*slim, error) {
	if s, ok := o.(*slim); ok {
		return s, nil
	}
	m, err := meta.Accessor(o)
	if err != nil {
		return nil, err
	}
	d := document{Metadata: metadata{Name: m.GetName(), Namespace: m.GetNamespace()}}
	switch o := o.(type) {
	case *unstructured.Unstructured:
		d.APIVersion, d.Kind, d.Spec = o.GetAPIVersion(), o.GetKind(), o.Object["spec"]
		d.Metadata.Labels, d.Metadata.Annotations = o.GetLabels(), o.GetAnnotations()
		if d.Kind == "BlockAffinity" {
			d.Metadata.Labels = nil // they only serve to find it
		}
	case *corev1.Node:
		d.node(o)
	case *corev1.Service:
		d.service(o)
	case *discoveryv1.EndpointSlice:
		d.endpointSlice(o)
	case *corev1.Secret:
		d.APIVersion, d.Kind, d.Data = "v1", "Secret", o.Data
	default:
		return nil, fmt.Errorf("an object of type %T was not asked for", o)
	}
	data, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	kept, dropped := ours(o)
	return &slim{data: data, kept: kept, dropped: dropped, ObjectMeta: metav1.ObjectMeta{Name: m.GetName(), Namespace: m.GetNamespace(),
		UID: m.GetUID(), ResourceVersion: m.GetResourceVersion()}}, nil
}

// lastApplied is where kubectl keeps what it was given.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// ours compares what kubectl was given with what the server has kept.
func ours(o any) (kept, dropped bool) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok || u.GetKind() != "BGPConfiguration" {
		return false, false
	}
	spec, _ := u.Object["spec"].(map[string]any)
	kept = spec[ourField] != nil || spec[ourField+"For"] != nil
	return kept, !kept && strings.Contains(u.GetAnnotations()[lastApplied], `"`+ourField)
}

// calicoAnnotations is what the annotations of a Node begin with in which Calico keeps its part.
const calicoAnnotations = "projectcalico.org/"

// unusedAnnotations are some of those that change without meaning anything for BGP.
var unusedAnnotations = []string{calicoAnnotations + "Interfaces", calicoAnnotations + "annotations", calicoAnnotations + "kube-labels"}

// node keeps addresses, labels, readiness and blocks. Without the rest a heartbeat changes
// nothing.
func (d *document) node(n *corev1.Node) {
	d.APIVersion, d.Kind = "v1", "Node"
	d.Metadata.Labels = n.Labels
	for name, value := range n.Annotations {
		if strings.HasPrefix(name, calicoAnnotations) && !slices.Contains(unusedAnnotations, name) {
			if d.Metadata.Annotations == nil {
				d.Metadata.Annotations = map[string]string{}
			}
			d.Metadata.Annotations[name] = value
		}
	}
	if len(n.Spec.PodCIDRs) > 0 {
		d.Spec = map[string]any{"podCIDRs": n.Spec.PodCIDRs}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			d.Status = map[string]any{"conditions": []map[string]string{{"type": string(c.Type), "status": string(c.Status)}}}
		}
	}
}

// serviceSpec and ingress are the parts of a Service that are used.
type serviceSpec struct {
	Type                  string   `json:"type,omitempty"`
	ClusterIP             string   `json:"clusterIP,omitempty"`
	ClusterIPs            []string `json:"clusterIPs,omitempty"`
	ExternalIPs           []string `json:"externalIPs,omitempty"`
	LoadBalancerIP        string   `json:"loadBalancerIP,omitempty"`
	ExternalTrafficPolicy string   `json:"externalTrafficPolicy,omitempty"`
	IPFamilies            []string `json:"ipFamilies,omitempty"`
}

type ingress struct {
	IP string `json:"ip"`
}

func (d *document) service(s *corev1.Service) {
	d.APIVersion, d.Kind = "v1", "Service"
	spec := serviceSpec{Type: string(s.Spec.Type), ClusterIP: s.Spec.ClusterIP, ClusterIPs: s.Spec.ClusterIPs,
		ExternalIPs: s.Spec.ExternalIPs, LoadBalancerIP: s.Spec.LoadBalancerIP, ExternalTrafficPolicy: string(s.Spec.ExternalTrafficPolicy)}
	for _, f := range s.Spec.IPFamilies {
		spec.IPFamilies = append(spec.IPFamilies, string(f))
	}
	d.Spec = spec
	var list []ingress
	for _, i := range s.Status.LoadBalancer.Ingress {
		if i.IP != "" {
			list = append(list, ingress{i.IP})
		}
	}
	if list != nil {
		d.Status = map[string]any{"loadBalancer": map[string]any{"ingress": list}}
	}
}

type endpoint struct {
	NodeName   string         `json:"nodeName,omitempty"`
	Conditions map[string]any `json:"conditions"`
}

// endpointSlice keeps on which nodes there are endpoints that are ready, each node once: how
// many there are, and which, does not matter.
func (d *document) endpointSlice(s *discoveryv1.EndpointSlice) {
	d.APIVersion, d.Kind, d.AddressType = "discovery.k8s.io/v1", "EndpointSlice", string(s.AddressType)
	if service, ok := s.Labels[discoveryv1.LabelServiceName]; ok {
		d.Metadata.Labels = map[string]string{discoveryv1.LabelServiceName: service}
	}
	nodes := map[string]bool{}
	for _, e := range s.Endpoints {
		if e.Conditions.Ready != nil && !*e.Conditions.Ready {
			continue
		}
		name := ""
		if e.NodeName != nil {
			name = *e.NodeName
		}
		nodes[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		d.Endpoints = append(d.Endpoints, endpoint{name, map[string]any{"ready": true}})
	}
}
