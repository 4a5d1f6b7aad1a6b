package live

import "testing"

func TestListThatLacksSomething(t *testing.T) {
	p := NewStore("test", nil).Part(PartOptions{Name: "BGPPeers", Decode: decodeItem})
	a, b := peerItem("a", `"peerIP":"192.0.2.1"`), peerItem("b", `"peerIP":"192.0.2.2"`)
	bad := peerItem("bad", `"peerIP":"nonsense"`)
	p.Replace([]Item{a, b, bad}, "1")
	for name, c := range map[string]struct {
		items []Item
		lacks bool
	}{
		"all of them":                         {[]Item{a, b, bad}, false},
		"all and another":                     {[]Item{a, b, bad, peerItem("c", "")}, false},
		"one that is not in use is gone":      {[]Item{b, a}, false},
		"one that is in use is gone":          {[]Item{a, bad}, true},
		"as long, but another in one's place": {[]Item{a, bad, peerItem("c", "")}, true},
		"nothing":                             {nil, true},
	} {
		if got := p.Lacks(c.items); got != c.lacks {
			t.Errorf("%s: %v", name, got)
		}
	}
}
