package recovery

import (
	"cmp"
	"slices"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
)

// InPlace is a configuration that the daemon runs, or will start with.
type InPlace struct {
	// Sessions are the BGP sessions of its files, by name.
	Sessions map[string]bird.ConfiguredSession
	// Views are what it was rendered from; empty when nobody knows.
	Views bgp.Views
	// Start is what of it counts only when the daemon starts.
	Start bird.StartSettings
	off   map[string]bool
	files [][]byte
	// common is what all sessions depend on.
	common []string
}

// Place reads the files of a configuration.
func Place(files [][]byte, views bgp.Views) InPlace {
	in := InPlace{Sessions: map[string]bird.ConfiguredSession{}, Views: views, off: map[string]bool{}, files: files}
	for _, f := range files {
		for _, s := range bird.ReadSessions(f) {
			in.Sessions[s.Name] = s
		}
		start := bird.ReadStartSettings(f)
		in.Start.RecoveryWait = cmp.Or(start.RecoveryWait, in.Start.RecoveryWait)
		in.Start.Listen += start.Listen
		in.common = append(in.common, bird.ReadCommon(f)...)
	}
	known := false
	for _, f := range bgp.Families {
		if v := views.Of(f); v != nil {
			known = true
			for i := range v.Peers {
				if v.Peers[i].GracefulRestartOff {
					in.off[v.Peers[i].Name] = true
				}
			}
		}
	}
	if !known {
		for name, s := range in.Sessions {
			if s.GracefulRestartOff {
				in.off[name] = true
			}
		}
	}
	return in
}

// Off tells whether a session was rendered without graceful restart. A template's own doing
// does not count, as far as that can be told.
func (in InPlace) Off(name string) bool { return in.off[name] }

// Without lists the sessions whose own block turns graceful restart off, sorted.
func (in InPlace) Without() []string {
	var names []string
	for name, s := range in.Sessions {
		if s.GracefulRestartOff {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// node is the node at the other end of a session; "" when it is not known.
func (in InPlace) node(name string) string {
	for _, f := range bgp.Families {
		if v := in.Views.Of(f); v != nil {
			for i := range v.Peers {
				if v.Peers[i].Name == name {
					return v.Peers[i].NodeName
				}
			}
		}
	}
	return ""
}

// AnyOff lists the sessions for which Off is true, in no order.
func (in InPlace) AnyOff() []string {
	var names []string
	for name := range in.off {
		names = append(names, name)
	}
	return names
}
