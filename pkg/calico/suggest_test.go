package calico

import "testing"

func TestDidYouMean(t *testing.T) {
	fields := []string{"peerIP", "peerSelector", "password", "filters", "node", "asNumber", "localASNumber"}
	for _, tt := range []struct {
		rule, word string
		candidates []string
		want       string
	}{
		{"other case only", "PEERip", fields, `did you mean "peerIP"?`},
		{"a letter missing", "pasword", fields, `did you mean "password"?`},
		{"a letter too many", "filterss", fields, `did you mean "filters"?`},
		{"another letter", "nods", fields, `did you mean "node"?`},
		{"neighbours swapped", "ndoe", fields, `did you mean "node"?`},
		{"neighbours swapped count once", "asNumebr", []string{"asNumber"}, `did you mean "asNumber"?`},
		{"a third of the letters wrong", "peerselektro", fields, `did you mean "peerSelector"?`},
		{"more than a third wrong", "psswd", fields, ""},
		{"short words may have one slip", "i", []string{"in"}, `did you mean "in"?`},
		{"nothing alike", "gracefulRestart", fields, ""},
		{"no candidates", "node", nil, ""},
		{"the nearest wins", "filters", []string{"filter", "filterX", "Filters"}, `did you mean "Filters"?`},
		{"of equally near ones the first in order wins", "nodd", []string{"nods", "node"}, `did you mean "node"?`},
		{"letters of several bytes count once", "knöten", []string{"knoten"}, `did you mean "knoten"?`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if got := DidYouMean(tt.word, tt.candidates); got != tt.want {
				t.Errorf("DidYouMean(%q) = %q, want %q", tt.word, got, tt.want)
			}
		})
	}
}
