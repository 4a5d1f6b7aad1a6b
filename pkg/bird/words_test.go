package bird

import "testing"

func TestVersionIs(t *testing.T) {
	for want, is := range map[string]bool{"": true, "1": true, "1.6": true, "1.6.8": true, "1.60": false, "16": false, "1.6.80": false, "2": false,
		"1.6 or 2": true, "2 or 1.6.8": true, "2 or 3": false} {
		if got := (Version{1, 6, 8}).Is(want); got != is {
			t.Errorf("1.6.8 is %q: %t", want, got)
		}
	}
}

// BIRD has no message when a reconfiguration ends, so its last word would be misleading.
func TestOutcomeOfAReconfiguration(t *testing.T) {
	reading := Line{2, "Reading configuration from /etc/bird/bird.cfg"}
	for _, tt := range []struct {
		last Line
		want string
	}{
		{Line{3, "Reconfigured"}, "Reading configuration from /etc/bird/bird.cfg; Reconfigured"},
		{Line{4, "Reconfiguration in progress"}, "Reading configuration from /etc/bird/bird.cfg; Reconfiguration in progress, and finished since"},
	} {
		if got := (Reply{tt.last.Code, []Line{reading, tt.last}}).Outcome(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestBadConfigIsNotAnyRefusal(t *testing.T) {
	for code, bad := range map[int]bool{8002: true, 6: false, 19: false, 8007: false, 9001: false} {
		if got := (&RefusedError{Code: code}).BadConfig(); got != bad {
			t.Errorf("%04d: %t", code, got)
		}
	}
}

func TestEstablished(t *testing.T) {
	for row, want := range map[string][2]bool{
		"tor BGP master up 10:00:00 Established":                {true, true},
		"tor BGP master wait 10:00:00 Established":              {true, false},
		"tor BGP master start 10:00:00 Active Socket: no route": {false, false},
		"Established Static master up 10:00:00 Established":     {false, false},
	} {
		p, ok := ParseProtocol(row)
		if got := [2]bool{p.Established(), p.Exchanges()}; !ok || got != want {
			t.Errorf("%s: established and exchanging %v, want %v", row, got, want)
		}
	}
}
