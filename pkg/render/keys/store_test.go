package keys

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kelseyhightower/memkv"
	"pgregory.net/rapid"
)

// answers are what a store says to each of its functions, with errors as text.
type answers struct {
	Exists              bool
	Get                 memkv.KVPair
	GetError            string
	Value, Otherwise    string
	All                 memkv.KVPairs
	AllError            string
	AllValues           []string
	List, ListDir, Bare []string
}

// reader is what memkv.Store and Store have in common.
type reader interface {
	Exists(string) bool
	Get(string) (memkv.KVPair, error)
	GetValue(string, ...string) (string, error)
	GetAll(string) (memkv.KVPairs, error)
	GetAllValues(string) ([]string, error)
	List(string) []string
	ListDir(string) []string
}

func ask(r reader, question string) answers {
	message := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	var a answers
	var err error
	a.Exists = r.Exists(question)
	a.Get, err = r.Get(question)
	a.GetError = message(err)
	a.Value, _ = r.GetValue(question)
	a.Otherwise, _ = r.GetValue(question, "a", "b")
	a.All, err = r.GetAll(question)
	a.AllError = message(err)
	a.AllValues, _ = r.GetAllValues(question)
	a.List, a.ListDir = r.List(question), r.ListDir(question)
	return a
}

// put gives a path a value, in a tree that is not Calico's.
func (t *Tree) put(path, value string) { t.root.set(value, elementsOf(path)...) }

// TestStoreAnswersLikeMemkv asks both the same, for any keys and any question.
func TestStoreAnswersLikeMemkv(t *testing.T) {
	element := rapid.SampledFrom([]string{"a", "b", "ab", "abc", "1-2", "x.y"})
	rapid.Check(t, func(t *rapid.T) {
		elements := rapid.SliceOfN(element, 1, 4)
		known := rapid.SliceOfN(rapid.Map(elements, func(e []string) string { return "/" + strings.Join(e, "/") }), 0, 12).Draw(t, "keys")
		prefix := rapid.SampledFrom([]string{"", "/", "/a", "/a/", "/a/b", "a"}).Draw(t, "prefix")
		wanted := rapid.SliceOfN(rapid.SampledFrom([]string{"", "/", "/a", "/b", "/a/b", "/ab", "/a/1", "b"}), 1, 3).Draw(t, "wanted")
		tree, like := &Tree{}, memkv.New()
		_, cover := Expand(prefix, wanted, "n")
		stripped, _ := Expand(prefix, nil, "n")
		for _, k := range known {
			// As calico/node's confd fills its store. Cut names can become the same key, so that
			// the value must not depend on the rest.
			key := path.Join("/", strings.TrimPrefix(k, stripped))
			value := string(rune('a' + len(key)%5))
			tree.put(k, value)
			if key != "/" && slices.ContainsFunc(cover, func(c string) bool { return strings.HasPrefix(k, c) }) {
				like.Set(key, value)
			}
		}
		store := tree.Store(prefix, wanted, "n")
		part := rapid.SampledFrom([]string{"a", "b", "ab", "a*", "*", "?", "*b", "[a-b]", "[", `\a`, "1-2", "x.y", "", ".."})
		question := rapid.OneOf(rapid.Map(rapid.SliceOfN(part, 1, 4), func(e []string) string { return "/" + strings.Join(e, "/") }),
			rapid.SampledFrom([]string{"", "/", "//", "a", "*", "/a/", "/a//b", "/a/b/", "[/]a", "."})).Draw(t, "question")
		if slices.Contains(known, path.Clean("/"+prefix)) {
			return // what is left of that key is /, which memkv finds below itself
		}
		if diff := cmp.Diff(ask(&like, question), ask(store, question)); diff != "" {
			t.Fatalf("%q (-memkv +ours):\n%s", question, diff)
		}
	})
}

// The truth table that memkv itself was seen to have.
func TestStoreTruthTable(t *testing.T) {
	tree := &Tree{}
	for k, v := range map[string]string{"/a/b": "1", "/a/b/c": "2", "/a/d/e/f": "3"} {
		tree.put(k, v)
	}
	s := tree.Store("", []string{"/"}, "")
	all, err := s.GetAll("/a/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		question  string
		got, want any
	}{
		{`ls "/a"`, s.List("/a"), []string{"b", "d"}},
		{`ls "/a/b"`, s.List("/a/b"), []string{"b", "c"}},
		{`lsdir "/a"`, s.ListDir("/a"), []string{"b", "d"}},
		{`lsdir "/a/d"`, s.ListDir("/a/d"), []string{"e"}},
		{`ls "/"`, s.List("/"), []string{}},
		{`lsdir "/"`, s.ListDir("/"), []string{}},
		{`gets "/a/*"`, all, memkv.KVPairs{{Key: "/a/b", Value: "1"}}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.question, diff)
		}
	}
}

// A prefix may end within a name: confd cuts the name then.
func TestStoreWithCutNames(t *testing.T) {
	tree := &Tree{}
	tree.put("/a/staticroutes/1", "x")
	tree.put("/a/staticroutesv6/2", "y")
	s := tree.Store("/a/staticroutes", []string{"/"}, "")
	got, err := s.GetAll("/*/*")
	if err != nil || len(got) != 1 || got[0] != (memkv.KVPair{Key: "/v6/2", Value: "y"}) || !s.Exists("/1") {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestExpand(t *testing.T) {
	for _, tt := range []struct {
		prefix, key, wantPrefix, want string
	}{
		{"/calico/", "/ipam/v2/host//NODENAME/ipv4/block", "/calico/", "/calico/ipam/v2/host/n1/ipv4/block"},
		{"calico", "/bgp//v1/", "/calico", "/calico/bgp/v1"},
		{"", "/calico", "/", "/calico"},
		{"/calico//NODENAME", "//NODENAME//NODENAME", "/calico/n1", "/calico/n1/n1/NODENAME"},
	} {
		prefix, cover := Expand(tt.prefix, []string{tt.key}, "n1")
		if prefix != tt.wantPrefix || cover[0] != tt.want {
			t.Errorf("%q and %q: got %q and %q, want %q and %q", tt.prefix, tt.key, prefix, cover, tt.wantPrefix, tt.want)
		}
	}
}
