package calico

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clusterOf makes a snapshot of objects without problems.
func clusterOf(t testing.TB, objects ...Object) *Cluster {
	t.Helper()
	c, problems := NewCluster(objects, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// kinds makes one empty object of each kind that a Cluster holds.
func kinds(t *testing.T) []reflect.Value {
	t.Helper()
	var out []reflect.Value
	c := reflect.TypeFor[Cluster]()
	for i := range c.NumField() {
		f := c.Field(i)
		if !f.IsExported() || f.Name == "Workloads" {
			continue
		}
		o := reflect.New(f.Type.Elem().Elem())
		meta := o.Interface().(Object).Common()
		meta.ID = ID{Kind: o.Elem().Type().Name(), Name: "x"}
		out = append(out, o)
	}
	return out
}

// mutate gives a value another one, at the first place inside of it that can be changed.
func mutate(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Interface().(type) {
	case netip.Addr:
		v.Set(reflect.ValueOf(netip.MustParseAddr("192.0.2.7")))
		return
	case netip.Prefix:
		v.Set(reflect.ValueOf(netip.MustParsePrefix("192.0.2.0/24")))
		return
	case *Selector:
		s, err := ParseSelector("rack == 'r1'")
		if err != nil {
			t.Fatal(err)
		}
		v.Set(reflect.ValueOf(s))
		return
	case time.Duration:
		v.SetInt(v.Int() + int64(time.Second))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(v.Uint() + 1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case reflect.Array:
		mutate(t, v.Index(0))
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		m.SetMapIndex(reflect.ValueOf("key"), reflect.Zero(v.Type().Elem()))
		v.Set(m)
	default:
		t.Fatalf("no idea how to change a %s", v.Type())
	}
}

// fieldsOf visits each field of a struct, and those of the elements that its pointers and
// lists point at, which it makes when they are missing.
func fieldsOf(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	for i := range v.NumField() {
		f, at := v.Field(i), path+"."+v.Type().Field(i).Name
		if f.Type() == reflect.TypeFor[Meta]() {
			continue
		}
		visit(at, f)
		if f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct && f.Type().Elem().PkgPath() == v.Type().PkgPath() {
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			fieldsOf(f.Index(0), at+"[0]", visit)
		}
		if f.Kind() == reflect.Pointer && f.Type().Elem().Kind() == reflect.Struct && f.Type() != reflect.TypeFor[*Selector]() {
			f.Set(reflect.New(f.Type().Elem()))
			fieldsOf(f.Elem(), at, visit)
		}
	}
}

// copyOf copies an object and all that it points at.
func copyOf(v reflect.Value) reflect.Value {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil() && v.Type() != reflect.TypeFor[*Selector]():
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(copyOf(v.Elem()))
		return out
	case v.Kind() == reflect.Slice && !v.IsNil():
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(copyOf(v.Index(i)))
		}
		return out
	case v.Kind() == reflect.Struct && v.Type().PkgPath() == reflect.TypeFor[Cluster]().PkgPath():
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(copyOf(v.Field(i)))
			}
		}
		return out
	}
	return v
}

func TestChangesSeesEachField(t *testing.T) {
	for _, o := range kinds(t) {
		count := 0
		check := func(path string, v reflect.Value) {
			t.Helper()
			count++
			was := copyOf(o).Interface().(Object)
			saved := reflect.New(v.Type()).Elem()
			saved.Set(v)
			mutate(t, v)
			now := copyOf(o).Interface().(Object)
			v.Set(saved)
			want := []Change{{was.Common().ID, "changed"}}
			if diff := cmp.Diff(want, Changes(clusterOf(t, was), clusterOf(t, now))); diff != "" {
				t.Errorf("%s: %s", path, diff)
			}
			if got := Changes(clusterOf(t, was), clusterOf(t, copyOf(o).Interface().(Object))); len(got) > 0 {
				t.Errorf("%s: a copy counts as %v", path, got)
			}
		}
		name := o.Elem().Type().Name()
		fieldsOf(o.Elem(), name, check)
		meta := o.Interface().(Object).Common()
		check(name+".Labels", reflect.ValueOf(meta).Elem().FieldByName("Labels"))
		if count < 2 {
			t.Errorf("%s: only %d fields were looked at", name, count)
		}
	}
	if n := reflect.TypeFor[Meta]().NumField(); n != 4 {
		t.Errorf("Meta has %d fields: does the new one count, as ID and Labels do, or not, as Annotations and Origin?", n)
	}
}

func TestChangesLeavesOut(t *testing.T) {
	for _, o := range kinds(t) {
		was, now := copyOf(o).Interface().(Object), copyOf(o).Interface().(Object)
		now.Common().Origin = Origin{Position: Position{File: "elsewhere", Line: 7}, fields: map[string]Position{"spec": {Line: 8}}}
		now.Common().Annotations = map[string]string{"note": "nobody reads this"}
		now.Common().Labels = map[string]string{} // as good as none
		if got := Changes(clusterOf(t, was), clusterOf(t, now)); len(got) > 0 {
			t.Errorf("place and annotations count: %v", got)
		}
	}
}

func TestChangesOfSecretValues(t *testing.T) {
	secret := func(value string) *Secret {
		return &Secret{Meta: Meta{ID: ID{"Secret", "calico-system", "bgp"}}, Data: map[string][]byte{"key": []byte(value)}}
	}
	want := []Change{{ID{"Secret", "calico-system", "bgp"}, "changed"}}
	if diff := cmp.Diff(want, Changes(clusterOf(t, secret("a")), clusterOf(t, secret("b")))); diff != "" {
		t.Error(diff)
	}
	if got := Changes(clusterOf(t, secret("a")), clusterOf(t, secret("a"))); len(got) > 0 {
		t.Error(got)
	}
}

func TestChanges(t *testing.T) {
	node := func(name string, as uint32) Object {
		return &Node{Meta: Meta{ID: ID{Kind: "Node", Name: name}}, ASNumber: as}
	}
	peer := &BGPPeer{Meta: Meta{ID: ID{Kind: "BGPPeer", Name: "tor"}}}
	config := &BGPConfiguration{Meta: Meta{ID: ID{Kind: "BGPConfiguration", Name: "default"}}}
	old := clusterOf(t, node("a", 1), node("c", 1), node("d", 1), peer)
	for _, tt := range []struct {
		name     string
		old, new *Cluster
		want     []string
	}{
		{"the same snapshot", old, old, nil},
		{"another order", old, clusterOf(t, peer, node("d", 1), node("a", 1), node("c", 1)), nil},
		{"one of each, sorted by kind and name", old, clusterOf(t, node("d", 2), node("b", 1), node("a", 1), peer, config),
			[]string{"BGPConfiguration/default added", "Node/b added", "Node/c removed", "Node/d changed"}},
		{"all is new", nil, clusterOf(t, node("b", 1), node("a", 1), peer), []string{"BGPPeer/tor added", "Node/a added", "Node/b added"}},
		{"all is gone", clusterOf(t, node("b", 1)), nil, []string{"Node/b removed"}},
		{"nothing at all", nil, nil, nil},
	} {
		if diff := cmp.Diff(tt.want, changeTexts(Changes(tt.old, tt.new))); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestChangesOfWorkloads(t *testing.T) {
	base := WorkloadEndpoint{Position: Position{File: "a"}, Interface: "cali1", IPv4: netip.MustParseAddr("192.0.2.7"), BGPPeerName: "tor"}
	with := func(change func(*WorkloadEndpoint)) WorkloadEndpoint {
		w := base
		change(&w)
		return w
	}
	nameless := with(func(w *WorkloadEndpoint) { w.Interface = "" })
	for _, tt := range []struct {
		name     string
		old, new []WorkloadEndpoint
		want     []string
	}{
		{"another file", []WorkloadEndpoint{base}, []WorkloadEndpoint{with(func(w *WorkloadEndpoint) { w.Position.File = "b" })}, nil},
		{"one more", nil, []WorkloadEndpoint{base}, []string{"WorkloadEndpoint/cali1 added"}},
		{"the same twice", []WorkloadEndpoint{base}, []WorkloadEndpoint{base, base}, []string{"WorkloadEndpoint/cali1 changed"}},
		{"none any more", []WorkloadEndpoint{nameless}, nil, []string{"WorkloadEndpoint/192.0.2.7 removed"}},
		{"a name for it", []WorkloadEndpoint{nameless}, []WorkloadEndpoint{base}, []string{"WorkloadEndpoint/192.0.2.7 removed", "WorkloadEndpoint/cali1 added"}},
	} {
		if diff := cmp.Diff(tt.want, changeTexts(Changes(&Cluster{Workloads: tt.old}, &Cluster{Workloads: tt.new}))); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	for i := range reflect.TypeFor[WorkloadEndpoint]().NumField() {
		w := base
		name := reflect.TypeFor[WorkloadEndpoint]().Field(i).Name
		if name == "Position" {
			continue
		}
		field := reflect.ValueOf(&w).Elem().Field(i)
		field.SetZero()
		if field.Equal(reflect.ValueOf(base).Field(i)) {
			mutate(t, field)
		}
		if len(Changes(&Cluster{Workloads: []WorkloadEndpoint{base}}, &Cluster{Workloads: []WorkloadEndpoint{w}})) == 0 {
			t.Errorf("%s does not count", name)
		}
	}
}

func changeTexts(changes []Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, c.ID.String()+" "+c.What)
	}
	return out
}

func BenchmarkChanges(b *testing.B) {
	decode := func() []Object { objects, _ := Decode("nodes", manyNodes(5000)); return objects }
	first := decode()
	old := clusterOf(b, first...)
	same := clusterOf(b, slices.Clone(first)...)
	again := clusterOf(b, decode()...)
	for name, new := range map[string]*Cluster{"the same objects": same, "decoded again": again} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := Changes(old, new); len(got) > 0 {
					b.Fatal(got)
				}
			}
		})
	}
}
