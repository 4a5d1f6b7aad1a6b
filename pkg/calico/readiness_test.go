package calico

import (
	"fmt"
	"testing"
)

// TestReady reads what the conditions of a Kubernetes Node say.
func TestReady(t *testing.T) {
	for _, tt := range []struct {
		name, status, problem string
		notReady              bool
	}{
		{"no status", "{}", "", false},
		{"no conditions", "{conditions: []}", "", false},
		{"ready", `{conditions: [{type: Ready, status: "True", reason: KubeletReady}]}`, "", false},
		{"not ready", `{conditions: [{type: Ready, status: "False"}]}`, "", true},
		{"not heard of any more", `{conditions: [{type: Ready, status: Unknown, reason: NodeStatusUnknown}]}`, "", true},
		{"another condition", `{conditions: [{type: MemoryPressure, status: "False"}, {type: Mine, status: odd}]}`, "", false},
		{"among others", `{conditions: [{type: DiskPressure, status: "True"}, {status: "False", type: Ready}, {type: PIDPressure, status: "True"}]}`, "", true},
		{"without status", `{conditions: [{type: Ready}]}`,
			"in.yaml:4:23: warning: Node/a status.conditions[0]: the condition has no status; the node counts as ready [missing-field]", false},
		{"misspelt", `{conditions: [{type: ready, status: "False"}]}`,
			"in.yaml:4:23: warning: Node/a status.conditions[0]: a condition of this type means nothing; the node counts as ready [enum]\n    hint: write it as Ready", false},
		{"a word that means nothing", `{conditions: [{type: Ready, status: "no"}]}`,
			`in.yaml:4:45: error: Node/a status.conditions[0].status: "no" is not one of True, False, Unknown; the node counts as ready [enum]`, false},
		{"a boolean", `{conditions: [{type: Ready, status: false}]}`,
			"in.yaml:4:45: error: Node/a status.conditions[0].status: a boolean stands where text belongs; the node counts as ready [wrong-type]\n    hint: put it in quotes: \"false\"", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var problems []string
			if tt.problem != "" {
				problems = append(problems, tt.problem)
			}
			n := one[*Node](t, decodeTest(t, "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: "+tt.status+"\n", problems...))
			if n.NotReady != tt.notReady {
				t.Errorf("NotReady is %t", n.NotReady)
			}
		})
	}
}

// TestReadinessOfACalicoNode looks at the Calico Node beside a Kubernetes Node.
func TestReadinessOfACalicoNode(t *testing.T) {
	const own = "apiVersion: projectcalico.org/v3\nkind: Node\nmetadata: {name: a}\nspec: {bgp: {ipv4Address: 192.0.2.1/24}}\n"
	core := func(status string) string {
		return fmt.Sprintf("---\napiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {conditions: [{type: Ready, status: %q}]}\n---\n", status)
	}
	for _, tt := range []struct {
		name, text string
		notReady   bool
	}{
		{"before", core("False") + own, true},
		{"after", own + core("Unknown"), true},
		{"ready", own + core("True"), false},
		{"alone", own, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			objects := decodeTest(t, tt.text)
			c, problems := NewCluster(objects, nil)
			if len(problems) > 0 || len(c.Nodes) != 1 {
				t.Fatalf("%d nodes, problems %v", len(c.Nodes), problems)
			}
			if n := c.Node("a"); n != c.Nodes[0] || n.NotReady != tt.notReady || !n.IPv4.IsValid() || n.Kubernetes {
				t.Errorf("%+v", n)
			}
			for _, o := range objects {
				if n := o.(*Node); !n.Kubernetes && n.NotReady {
					t.Error("the object itself was changed")
				}
			}
		})
	}
	before, _ := NewCluster(decodeTest(t, own+core("True")), nil)
	after, _ := NewCluster(decodeTest(t, own+core("False")), nil)
	if changes := Changes(before, after); len(changes) != 1 || changes[0].Name != "a" || changes[0].What != "changed" {
		t.Errorf("changes: %v", changes)
	}
}
