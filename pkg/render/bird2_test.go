package render

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// loadBird2 loads the built-in set for BIRD 2 with overlays, which must be fine.
func loadBird2(t *testing.T, overlay ...Source) *Set {
	t.Helper()
	base, err := Builtin("bird2")
	if err != nil {
		t.Fatal(err)
	}
	set, problems := Load(base, overlay...)
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	return set
}

// bird2 renders for BIRD 2, which must accept it.
func bird2(t *testing.T, v bgp.Views, overlay ...Source) map[string]string {
	t.Helper()
	files := text(t, loadBird2(t, overlay...), v)
	mustPassBird2(t, files)
	return files
}

func mustPassBird2(t *testing.T, files map[string]string) {
	t.Helper()
	at := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(at, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := (bird.Checker{Binary: birdtest.Bird2(t)}).Check(t.Context(), filepath.Join(at, "bird.cfg")); err != nil {
		t.Errorf("BIRD refuses it: %v", err)
	}
}

func TestBird2Peers(t *testing.T) {
	v := views(t)
	quick := 5 * time.Second
	v.IPv4.Peers = []bgp.Peer{{
		Name: "Node_192_0_2_99", Address: netip.MustParseAddr("192.0.2.99"), ASNumber: 64500, Port: 1790, LocalASNumber: 64999,
		SourceAddress: netip.MustParseAddr("192.0.2.11"), TTLSecurity: 3, Password: bgp.NewSecret(canary), Passive: true,
		GracefulRestartOff: true, GracefulRestartTime: &quick, KeepaliveTime: &quick, RouteReflectorClient: true,
		ClusterID: netip.MustParseAddr("1.0.0.1"), NextHopSelf: true, AllowLocalAS: 2,
		Import: v.IPv4.ImportPolicies[0].Name, Export: v.IPv4.ExportPolicies[0].Name, Why: "BGPPeer/everything",
	}, {
		Name: "Node_192_0_2_100", Address: netip.MustParseAddr("192.0.2.100"), ASNumber: 64500, LocalASNumber: 64999, NextHopKeep: true,
		Import: v.IPv4.ImportPolicies[0].Name, Export: v.IPv4.ExportPolicies[0].Name, Why: "BGPPeer/little",
	}}
	// A client of a route reflector is an internal peer.
	v.IPv4.Peers[0].LocalASNumber = 64500
	got := bird2(t, v)["bird_ipv4.cfg"]
	want := `  local 192.0.2.11 as 64500;
  neighbor 192.0.2.99 port 1790 as 64500;
  ttl security on;
  multihop 3;
  passive on;
  graceful restart off;
  graceful restart time 5;
  keepalive time 5;
  rr client;
  rr cluster id 1.0.0.1;
  password "` + canary + `";
  allow local as 2;
  ipv4 {
    import filter calico_import_ipv4;
    export filter 'calico_export_external:tor-only_ipv4';
    next hop self;
  };
`
	if diff := cmp.Diff(want, blockOf(t, got, "protocol bgp Node_192_0_2_99 from bgp_template_ipv4 {")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = `  local as 64999;
  neighbor 192.0.2.100 as 64500;
  ipv4 {
    import filter calico_import_ipv4;
    export filter 'calico_export_external:tor-only_ipv4';
    next hop keep;
  };
`
	if diff := cmp.Diff(want, blockOf(t, got, "protocol bgp Node_192_0_2_100 from bgp_template_ipv4 {")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBird2GracefulRestartWait(t *testing.T) {
	v := views(t)
	none, long := time.Duration(0), 90*time.Second
	for _, tt := range []struct {
		wait *time.Duration
		want int
		line string
	}{{nil, 0, "graceful restart wait"}, {&none, 1, "graceful restart wait 0;\n"}, {&long, 1, "graceful restart wait 90;\n"}} {
		v.IPv4.GracefulRestartWait, v.IPv6.GracefulRestartWait = tt.wait, tt.wait
		var all strings.Builder
		for _, text := range bird2(t, v) {
			all.WriteString(text)
		}
		if got := strings.Count(all.String(), tt.line); got != tt.want {
			t.Errorf("%q is there %d times, want %d", tt.line, got, tt.want)
		}
	}
}

func TestBird2Listen(t *testing.T) {
	address := netip.MustParseAddr("192.0.2.11")
	for _, tt := range []struct {
		rule   string
		listen bgp.Listen
		want   string
	}{
		{"defaults", bgp.Listen{}, "  local as 64500;\n  multihop;\n"},
		{"a port", bgp.Listen{Port: 1790}, "  local port 1790 as 64500;\n  multihop;\n"},
		{"an address", bgp.Listen{Address: address}, "  local 192.0.2.11 as 64500;\n  strict bind on;\n  free bind on; # the address may come after BIRD\n  multihop;\n"},
		{"both", bgp.Listen{Address: address, Port: 1790}, "  local 192.0.2.11 port 1790 as 64500;\n  strict bind on;\n  free bind on; # the address may come after BIRD\n  multihop;\n"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			v := views(t)
			v.IPv4.Listen = tt.listen
			if got := blockOf(t, bird2(t, v)["bird_ipv4.cfg"], "template bgp bgp_template_ipv4 {"); !strings.Contains(got, tt.want) {
				t.Errorf("%q is not in\n%s", tt.want, got)
			}
		})
	}
}

// BIRD 2 has no word for the tunnel of a route, so what should go through one is left to Felix.
func TestBird2LeavesTunnelsToFelix(t *testing.T) {
	v := views(t)
	v.IPv4.Kernel = []bgp.KernelRule{
		{Prefix: netip.MustParsePrefix("10.1.0.0/16"), Action: bgp.KernelReject, Why: "IPPool/a"},
		{Prefix: netip.MustParsePrefix("10.2.0.0/16"), Action: bgp.KernelAccept, Why: "IPPool/b"},
		{Prefix: netip.MustParsePrefix("10.3.0.0/16"), Action: bgp.KernelTunnel, Tunnel: "tunl0", Why: "IPPool/c"},
		{Prefix: netip.MustParsePrefix("10.4.0.0/16"), Action: bgp.KernelCrossSubnet, Tunnel: "tunl0", Subnet: netip.MustParsePrefix("192.0.2.0/24"), Why: "IPPool/d"},
	}
	got := blockOf(t, bird2(t, v)["bird_ipv4_ipam.cfg"], "filter calico_kernel_programming_ipv4 {")
	want := `  if ( net ~ 10.1.0.0/16 ) then { reject; } # IPPool/a
  if ( net ~ 10.2.0.0/16 ) then { accept; } # IPPool/b
  if ( net ~ 10.3.0.0/16 ) then { reject; } # IPPool/c
  if ( net ~ 10.4.0.0/16 ) then { if ( defined(bgp_next_hop) && (bgp_next_hop ~ 192.0.2.0/24) ) then { accept; } reject; } # IPPool/d
  accept;
`
	if !strings.HasSuffix(got, want) || !strings.HasPrefix(got, "  if ( source = RTS_DEVICE ) then { reject; }") {
		t.Errorf("got\n%s", got)
	}
}

// Whatever BIRD learns about the tunnel is Felix's, also where BIRD 1.6 would program it.
func TestBird2KeepsTunnelRoutesFromInternalPeers(t *testing.T) {
	v := views(t)
	for _, interfaces := range [][]string{{"*.cali"}, {"*.cali", "tunl0"}} {
		v.IPv4.TunnelInterfaces = interfaces
		got := blockOf(t, bird2(t, v)["bird_ipv4_ipam.cfg"], "function calico_export_to_bgp_peers_ipv4(bool internal_peer) {")
		if want := `if ( (ifname ~ "tunl0") || (ifname ~ "*.cali") ) then { reject; }`; !strings.Contains(got, want) {
			t.Errorf("with %q it is\n%s", interfaces, got)
		}
	}
}

// TestBird2Example wants BIRD to accept what the example for Debian makes.
func TestBird2Example(t *testing.T) {
	example, err := os.ReadFile(filepath.Join("..", "..", "etc", "conf.d", "bird2.yaml.example"))
	if err != nil {
		t.Fatal(err)
	}
	c := config(t, tree(t, "conf.d/a.yaml", string(example)))
	target := c.Targets[0]
	if len(c.Targets) != 1 || target.FamilyName() != "both" || target.Version != "2 or 3" || target.Socket != "/run/bird/bird.ctl" ||
		target.Directory != "/etc/bird" || target.Main() != "bird.conf" || *target.Owner != (Owner{104, 105}) {
		t.Errorf("got %+v", target)
	}
	want := append([]FileSpec{{Name: "bird.conf", Template: "main"}}, loadBird2(t).Targets[0].Files[1:]...)
	if diff := cmp.Diff(want, target.Files); diff != "" {
		t.Errorf("files (-set +example):\n%s", diff)
	}
	files, problems := target.Set.Render(target.Target, Input{Views: views(t)})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	rendered := map[string]string{}
	for _, f := range files {
		rendered[strings.ReplaceAll(f.Name, ".conf", ".cfg")] = string(f.Data)
	}
	mustPassBird2(t, rendered)
}

func TestBird2OfOneFamily(t *testing.T) {
	for _, f := range bgp.Families {
		set := loadBird2(t)
		var ok bool
		if set.Targets[0], ok = set.Targets[0].Only([]bgp.Family{f}); !ok {
			t.Fatal("there is no target")
		}
		files := text(t, set, views(t).Only([]bgp.Family{f}))
		mustPassBird2(t, files)
		for name, text := range files {
			other := strings.Contains(name, "_ipv") && !strings.Contains(name, fmt.Sprintf("_ipv%d", f))
			if empty := strings.Count(text, "\n") == 1 && strings.HasPrefix(text, "# Empty: "); empty != other {
				t.Errorf("with %s only, %s is\n%s", f, name, text)
			}
		}
	}
}

func TestBird2WithoutAnAddress(t *testing.T) {
	got := bird2(t, views(t, `, ipv6Address: "2001:db8::11/64"`, ""))
	if text := got["bird_ipv6.cfg"]; !strings.HasSuffix(text, "# No BGP: the node has no IPv6 address.\n") || strings.Contains(text, "protocol bgp") {
		t.Errorf("got\n%s", text)
	}
}

// The longest names of policies leave room for what makes them differ between families.
func TestBird2LongNames(t *testing.T) {
	name := strings.Repeat("x", bgp.MaxSymbol+30)
	got := bird2(t, views(t, "{name: tor-only}", "{name: "+name+"}", "[tor-only]", "["+name+"]"))["bird_ipv4.cfg"]
	if m := regexp.MustCompile(`(?m)^filter '(calico_import:x+_[0-9A-F]{16}_ipv4)' \{$`).FindStringSubmatch(got); m == nil || len(m[1]) != bgp.MaxSymbol {
		t.Errorf("got %q in\n%s", m, got)
	}
}

// Each hook, filled with a statement that BIRD takes in that place only.
func TestBird2Hooks(t *testing.T) {
	v := views(t)
	empty := bird2(t, v)
	for _, tt := range []struct{ hook, fill, place string }{
		{"hook-10-top", "timeformat protocol iso long;", `include "bird_FAMILY_ipam.cfg";\n\ntimeformat protocol iso long;\n\nprotocol kernel `},
		{"hook-20-kernel", "  scan time 10;", `protocol kernel kernel_FAMILY {[^}]*};\n  scan time 10;\n}\n`},
		{"hook-30-bgp-template", "  hold time 30;", `template bgp bgp_template_FAMILY {[^}]*};\n  hold time 30;\n}\n`},
		{"hook-35-bgp-template-channel", "    preference 120;", `template bgp bgp_template_FAMILY {[^}]*    preference 120;\n  };`},
		{"hook-40-peer", "  hold time {{len .Name}};", `protocol bgp PEER from [^}]*};\n  hold time LENGTH;\n}\n`},
		{"hook-45-peer-channel", "    import limit {{len .Name}} action block;", `protocol bgp PEER from [^}]*    import limit LENGTH action block;\n  };\n}\n`},
		{"hook-90-end", "protocol static more_{{.Family}} { {{lower .Family.String}}; }", `}\n\nprotocol static more_IPv[46] { FAMILY; }\n$`},
	} {
		t.Run(tt.hook, func(t *testing.T) {
			got := bird2(t, v, dir("local.tmpl", fmt.Sprintf("{{define %q}}\n%s\n{{end}}\n", tt.hook, tt.fill)))
			for name := range empty {
				changed := got[name] != empty[name]
				if isMain := name == "bird_ipv4.cfg" || name == "bird_ipv6.cfg"; changed != isMain {
					t.Errorf("%s changed: %v", name, changed)
				}
			}
			for family, peer := range map[string]string{"ipv4": "Mesh_192_0_2_12", "ipv6": "Mesh_2001_db8__12"} {
				place := strings.NewReplacer("FAMILY", family, "PEER", peer, "LENGTH", strconv.Itoa(len(peer)), "{", `\{`, "}", `\}`, "[^}]", "[^}]").Replace(tt.place)
				if text := got["bird_"+family+".cfg"]; !regexp.MustCompile(place).MatchString(text) {
					t.Errorf("not in its place, %s:\n%s", place, text)
				}
			}
		})
	}
}
