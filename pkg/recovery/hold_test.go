package recovery

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

func place(text ...string) InPlace {
	var files [][]byte
	for _, f := range text {
		files = append(files, []byte(f))
	}
	return Place(files, bgp.Views{})
}

func TestInPlace(t *testing.T) {
	in := place(startFiles, "protocol bgp d { graceful restart no; }\nlisten bgp port 1790;\n")
	if got := in.Without(); !slices.Equal(got, []string{"a", "c", "d"}) {
		t.Errorf("without graceful restart: %v", got)
	}
	off := in.AnyOff()
	slices.Sort(off)
	if len(in.Sessions) != 4 || !slices.Equal(off, []string{"a", "c", "d"}) || !in.Off("d") || in.Off("b") {
		t.Errorf("sessions %v, off %v", in.Sessions, off)
	}
	want := bird.StartSettings{RecoveryWait: "graceful restart wait 20;", Listen: "listen bgp address 192.0.2.1;listen bgp port 1790;"}
	if in.Start != want {
		t.Errorf("heeded at the start: %+v", in.Start)
	}
	// With Views it is known what a template's own doing is.
	v := view("a", "b", "c")
	v.Peers[0].GracefulRestartOff = true
	in = Place([][]byte{[]byte(startFiles)}, bgp.Views{IPv4: v})
	if !in.Off("a") || in.Off("c") || !slices.Equal(in.AnyOff(), []string{"a"}) || !slices.Equal(in.Without(), []string{"a", "c"}) {
		t.Errorf("off %v, without %v", in.AnyOff(), in.Without())
	}
}

// TestDisturbed asks what a recovery of a real BIRD would make of other configurations.
func TestDisturbed(t *testing.T) {
	t.Parallel()
	for _, version := range []int{1, 2} {
		s := birdtest.NewSpeaker(t, version, "127.0.0.1")
		a, b := s.Session("a", nobody, "passive;"), s.Session("b", nobody, "passive;")
		b = strings.Replace(b, nobody.Address, "127.0.0.8", 1)
		off := s.Session("never", birdtest.Speaker{Address: "127.0.0.9", Port: 1}, "passive;", "graceful restart off;")
		base := s.Base() + "template bgp unused { hold time 90; }\n"
		d := s.Start(t, strings.TrimPrefix(base, s.Base())+a+b+off, "-R")
		state := watch(t, bird.Client{Socket: d.Socket}, nil).becomes(Recovering)
		now := place(base + a + b + off)
		for _, tt := range []struct {
			rule string
			next string
			want []string
		}{
			{"nothing changes", base + a + b + off, nil},
			{"order and comments", base + "# new\n" + off + b + a, nil},
			{"more sessions, and other things", base + a + b + off + strings.Replace(off, "never {", "more {", 1) + "protocol direct { }\n", nil},
			{"one is removed", base + b + off, []string{"a"}},
			{"one is changed", base + strings.Replace(a, "multihop", "hold time 30; multihop", 1) + b + off, []string{"a"}},
			{"one that it does not wait for is removed", base + a + b, nil},
			{"a template", strings.Replace(base, "90", "91", 1) + a + b + off, []string{"a", "b"}},
			{"the router id", strings.Replace(base, s.Address, "127.0.0.99", 1) + a + b + off, []string{"a", "b"}},
			{"all is gone", "", []string{"a", "b"}},
		} {
			want := tt.want
			if version == 1 {
				want = nil // it gets over that
			}
			if diff := cmp.Diff(want, state.Disturbed(now, place(tt.next))); diff != "" {
				t.Errorf("BIRD %d: %s (-want +got):\n%s", version, tt.rule, diff)
			}
			over := state
			over.Condition = Steady
			if got := over.Disturbed(now, place(tt.next)); got != nil {
				t.Errorf("BIRD %d: %s: after the recovery it disturbs %v", version, tt.rule, got)
			}
		}
		unseen := state
		unseen.Sessions = nil
		if got := unseen.Disturbed(now, place(base+b)); version == 2 && !slices.Equal(got, []string{"a", "never"}) {
			t.Errorf("without knowing sessions the recovery may wait for any: %v", got)
		}
	}
}
