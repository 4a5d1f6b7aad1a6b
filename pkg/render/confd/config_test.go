package confd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

// inGeneration parses a template that belongs to a generation by what it asks for.
func inGeneration(t *testing.T, g Generation, text string) *Template {
	t.Helper()
	spec := Spec{Label: "t.tmpl", Prefix: "/calico/", Keys: []string{"/bgp/v1"}}
	if g == From333 {
		spec.Keys = append(spec.Keys, "/bgpconfig")
	}
	tmpl, err := Parse(spec, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if tmpl.Generation != g {
		t.Fatalf("it is of generation %s, want %s", tmpl.Generation, g)
	}
	return tmpl
}

func TestGenerations(t *testing.T) {
	for _, tt := range []struct {
		rule, text string
		keys       []string
		want       Generation
	}{
		{"keys only", `{{getv "/a"}}`, []string{"/bgpconfig"}, UpTo331},
		{"the object", `{{getBGPConfig 4 .}}`, []string{"/bgp/v1"}, Only332},
		{"the object and its trigger", `{{getBGPConfig 4 .}}`, []string{"/bgp/v1", "/bgpconfig"}, From333},
		{"all keys, but not by name", `{{getBGPConfig 4 .}}`, []string{"/", "/bgp"}, Only332},
		{"inside something else", `{{define "x"}}{{with (getBGPConfig 4 $)}}{{.NodeName}}{{end}}{{end}}`, nil, Only332},
	} {
		tmpl, err := Parse(Spec{Label: "t", Prefix: "/calico", Keys: tt.keys}, []byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if tmpl.Generation != tt.want {
			t.Errorf("%s: got %s, want %s", tt.rule, tmpl.Generation, tt.want)
		}
	}
}

const printConfig = `{{$c := getBGPConfig 4 .}}{{$c.NodeName}}|{{$c.NodeIP}}|{{$c.NodeIPv6}}|{{$c.ASNumber}}|{{$c.RouterID}}|{{len $c.Filters}}
{{range $c.Communities}}{{.CIDR}}{{range .AddStatements}} {{.}}{{end}}
{{end}}{{$c.LogLevel}}|{{$c.DebugMode}}|{{$c.PeerDebugMode}}
{{$c.ListenAddress}}|{{$c.ListenPort}}|{{$c.DirectInterfaces}}
{{join $c.ExternalIPs " "}}|{{join $c.LoadBalancerIPs " "}}
{{$c.NormalRoutePriority}}|{{$c.GracefulRestartWait}}
{{range $c.BGPExportFilterForDisabledIPPools}}{{.}}
{{end}}{{range $c.BGPExportFilterForEnabledIPPools}}{{.}}
{{end}}{{range $c.KernelFilterForIPPools}}{{.}}
{{end}}{{range $c.WireguardPeerKernelFilter}}{{.}}
{{end}}`

func TestConfig(t *testing.T) {
	d := dataOf(t, cluster)
	const head = `a|192.0.2.1|2001:db8::1|64500|192.0.2.1|0
10.1.0.0/16 bgp_community.add((5663, 12)); bgp_large_community.add((64500, 5, 6));
`
	const middle = `192.0.2.1|1790|-"eth9", -"vlan*", -"cali*", -"kube-ipvs*", "*"
203.0.113.0/24 2001:db8:5::/64|198.51.100.128/25
1024|30
  if (net ~ 10.6.0.0/16) then { reject; } # IPPool/inner
  if (net ~ 10.3.0.0/16) then { accept; } # IPPool/tunnel
  if (net ~ 10.4.0.0/16) then { accept; } # IPPool/near
  if (net ~ 10.5.0.0/16) then { accept; } # IPPool/plain
`
	const end = `  if (net ~ 10.6.0.0/16) then { reject; } # IPPool/inner
  if (defined(bgp_next_hop) && (bgp_next_hop = 192.0.2.2)) then { reject; } # Node/b
`
	// Since 3.33 Felix programs the routes of IPIP pools, unless told otherwise.
	new := head + "info|{ states }|debug { states, routes, filters, events };\n" + middle + `  if (net ~ 10.3.0.0/16) then { reject; } # IPPool/tunnel
  if (net ~ 10.4.0.0/16) then { reject; } # IPPool/near
  if (net ~ 10.5.0.0/16) then { accept; } # IPPool/plain
` + end
	old := head + "info|{ states }|debug { states };\n" + middle + `  if (net ~ 10.3.0.0/16) then { krt_tunnel="tunl0"; accept; } # IPPool/tunnel
  if (net ~ 10.4.0.0/16) then { if (defined(bgp_next_hop)&&(bgp_next_hop ~ 192.0.2.0/24)) then krt_tunnel=""; else krt_tunnel="tunl0"; accept; } # IPPool/near
  if (net ~ 10.5.0.0/16) then { accept; } # IPPool/plain
` + end
	for g, want := range map[Generation]string{From333: new, Only332: old} {
		got, err := inGeneration(t, g, printConfig).Execute(d)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got.Data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", g, diff)
		}
	}
}

func TestConfigTexts(t *testing.T) {
	for _, tt := range []struct{ rule, text, ask, want string }{
		{"debugging", strings.Replace(cluster, "asNumber: 64500", "asNumber: 64500\n  logSeverityScreen: Debug", 1), `{{$c.DebugMode}}|{{$c.PeerDebugMode}}`, "all|debug all;"},
		{"no logging", strings.Replace(cluster, "asNumber: 64500", "asNumber: 64500\n  logSeverityScreen: Error", 1), `{{$c.LogLevel}}|{{$c.DebugMode}}|{{$c.PeerDebugMode}}`, "none||"},
		{"no listen address", strings.Replace(cluster, "NodeIP", "None", 1), `{{$c.ListenAddress}}`, ""},
		{"metrics", cluster, `{{range $c.SetMetricForBGPRoutes}}{{.}}
{{end}}`, `  if (defined(source) && (source = RTS_BGP) && !defined(krt_metric)) then {
    krt_metric = 1024;
    if (defined(bgp_local_pref)) then { krt_metric = 2147483647 - bgp_local_pref; }
    if (krt_metric < 1024) then { preference = 200; }
  }
`},
		{"tunnels", cluster, `{{range $c.IBGPExportFilterForTunnelRoutes}}{{.}}
{{end}}`, `  if (internal_peer) then {
    if (defined(ifname)) then {
      if ((ifname ~ "*.cali") || (ifname ~ "*.calico") || (ifname ~ "tunl0")) then { reject; }
    }
  }
`},
	} {
		got, err := inGeneration(t, From333, "{{$c := getBGPConfig 4 .}}"+tt.ask).Execute(dataOf(t, tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got.Data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.rule, diff)
		}
	}
}

func TestConfigPeers(t *testing.T) {
	d := dataOf(t, cluster)
	d.Views.IPv4.Peers[1].Password = bgp.NewSecret("canary")
	d.Views.IPv4.Peers[0].GracefulRestartOff = true
	const ask = `{{$c := getBGPConfig 4 .}}{{range $c.Peers}}{{.Name}}|{{.IP}}|{{.Port}}|{{.ASNumber}}|{{.LocalASNumber}}|{{.Type}}|{{.Password}}|{{.TTLSecurity}}|{{.RouteReflector}}|{{.RRClusterID}}|{{.SourceAddr}}|{{.NextHopSelf}}|{{.NextHopKeep}}|{{.AddPaths}}|{{.Passive}}|{{.GracefulRestart}}|{{.KeepaliveTime}}|{{.NumAllowLocalAs}}|{{.GracefulRestartOff}}|{{.Why}}
{{end}}`
	const mesh = "Mesh_192_0_2_2|192.0.2.2|1790|64502||mesh||%|false||192.0.2.1|false|false||true||||true|node-to-node mesh\n"
	const tor = "Node_198_51_100_1_port_1179|198.51.100.1|1179|65010|64999|node|canary|%|false||192.0.2.1|true|false||false|90|20|2|false|BGPPeer/tor via node\n"
	for g, ttl := range map[Generation][2]string{From333: {"off", "3"}, Only332: {"", "on;\n    multihop 3"}} {
		got, err := inGeneration(t, g, ask).Execute(d)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(mesh, "%", ttl[0], 1) + strings.Replace(tor, "%", ttl[1], 1)
		if diff := cmp.Diff(want, string(got.Data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", g, diff)
		}
	}
	got, err := inGeneration(t, From333, `{{range (getBGPConfig 4 .).Peers}}{{.ImportFilter}}
--
{{.ExportFilter}}
==
{{end}}`).Execute(d)
	want := `if (defined(bgp_local_pref)&&(bgp_local_pref > 2147482623)) then
      preference = 200;
    accept;
--
if (defined(source) && source = RTS_BGP && defined(bgp_local_pref)) then {
      krt_metric = 2147483647 - bgp_local_pref;
    } else {
      if (!defined(krt_metric)) then { krt_metric = 1024; }
      bgp_local_pref = 2147483647 - krt_metric;
    }
    calico_export_to_bgp_peers(false);
    reject;
==
'bgp_f_importFilterV4'(false);
    if (defined(bgp_local_pref)&&(bgp_local_pref > 2147482623)) then
      preference = 200;
    accept;
--
if (defined(source) && source = RTS_BGP && defined(bgp_local_pref)) then {
      krt_metric = 2147483647 - bgp_local_pref;
    } else {
      if (!defined(krt_metric)) then { krt_metric = 1024; }
      bgp_local_pref = 2147483647 - krt_metric;
    }
    calico_export_to_bgp_peers(false);
    reject;
==
`
	if diff := cmp.Diff(want, string(got.Data)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A family that is not rendered has no object, which is not an empty one.
func TestConfigOfNoView(t *testing.T) {
	d := dataOf(t, cluster)
	d.Views.IPv6 = nil
	_, err := inGeneration(t, From333, "{{(getBGPConfig 6 .).NodeName}}").Execute(d)
	if err == nil || !strings.Contains(err.Error(), "there is no IPv6 configuration for the node a") {
		t.Errorf("got %v", err)
	}
}

// The bytes of a template are its own: nothing is tidied up.
func TestBytesAreKept(t *testing.T) {
	const text = "\n\n a  \n\t\n}\n\n"
	if got := must(t, dataOf(t, cluster), text); got != text {
		t.Errorf("got %q", got)
	}
}
