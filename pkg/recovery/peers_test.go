package recovery

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/birdconfd/birdconfd/test/shared"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func knownPeers() Peers {
	return Peers{AsOf: noon, Peers: []KnownPeer{
		{Name: "Mesh_192_0_2_2", Node: "worker-2", NotReady: true, Address: netip.MustParseAddr("192.0.2.2"), Origin: "node-to-node mesh"},
		{Name: "Global_10_0_0_1", Address: netip.MustParseAddr("10.0.0.1"), Origin: "BGPPeer/rack-1 via nodeSelector"},
	}}
}

func writePeers(t *testing.T, dir string, p Peers) {
	t.Helper()
	if err := WritePeers(dir, p); err != nil {
		t.Fatal(err)
	}
}

func TestPeersAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "bird")
	if _, err := ReadPeers(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	writePeers(t, dir, knownPeers())
	got, err := ReadPeers(dir)
	if diff := cmp.Diff(knownPeers(), got, cmpopts.EquateComparable(netip.Addr{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	info, err := os.Stat(filepath.Join(dir, peersName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("beside it there is something left: %v, %v", entries, err)
	}
}

func TestPeersAreWrittenOnlyWhenItMatters(t *testing.T) {
	later := func(d time.Duration, change func(*Peers)) Peers {
		p := knownPeers()
		p.AsOf = noon.Add(d)
		if change != nil {
			change(&p)
		}
		return p
	}
	for _, tt := range []struct {
		rule  string
		then  Peers
		write bool
	}{
		{"nothing but the time has changed, by little", later(rewriteAfter-time.Second, nil), false},
		{"nothing but the time has changed, by much", later(rewriteAfter, nil), true},
		{"the clock was set back", later(-time.Second, nil), true},
		{"a node has become ready", later(time.Second, func(p *Peers) { p.Peers[0].NotReady = false }), true},
		{"a peer is gone", later(time.Second, func(p *Peers) { p.Peers = p.Peers[:1] }), true},
	} {
		dir := t.TempDir()
		writePeers(t, dir, knownPeers())
		writePeers(t, dir, tt.then)
		want := noon
		if tt.write {
			want = tt.then.AsOf
		}
		if got, err := ReadPeers(dir); err != nil || !got.AsOf.Equal(want) {
			t.Errorf("%s: the file is of %v, %v, want %v", tt.rule, got.AsOf, err, want)
		}
	}
}

// A file that was not written by WritePeers, or only in part, is told and written anew.
func TestDamagedPeers(t *testing.T) {
	whole, err := json.Marshal(knownPeers())
	if err != nil {
		t.Fatal(err)
	}
	for rule, text := range map[string]string{"empty": "", "half": string(whole[:len(whole)/2]), "something else": `[1]`, "no address": `{"peers":[{"address":"x"}]}`} {
		dir := t.TempDir()
		path := filepath.Join(dir, peersName)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadPeers(dir)
		if err == nil || !strings.HasPrefix(err.Error(), "read the peers: "+path+" is damaged: ") || len(got.Peers) > 0 || !got.AsOf.IsZero() {
			t.Errorf("%s: %+v, %v", rule, got, err)
		}
		writePeers(t, dir, knownPeers())
		if got, err := ReadPeers(dir); err != nil || len(got.Peers) != 2 {
			t.Errorf("%s, written anew: %+v, %v", rule, got, err)
		}
	}
}

func TestPeersThatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WritePeers(filepath.Join(dir, "file"), knownPeers()); err == nil || !strings.HasPrefix(err.Error(), "keep the peers: ") {
		t.Errorf("below a file: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, peersName), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WritePeers(dir, knownPeers()); err == nil || !strings.HasPrefix(err.Error(), "keep the peers: ") {
		t.Errorf("where a directory is: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("a part of it is left: %v, %v", entries, err)
	}
}

func TestPeersOfSomebodyElse(t *testing.T) {
	shared.NeedRoot(t, "it takes the rights of another user")
	dir := t.TempDir()
	writePeers(t, dir, knownPeers())
	shared.AsNobody(t, func() {
		if _, err := ReadPeers(dir); err == nil || !strings.HasPrefix(err.Error(), "read the peers: ") {
			t.Errorf("%v", err)
		}
	})
}
