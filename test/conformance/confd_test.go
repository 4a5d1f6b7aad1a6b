package conformance

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/render/confd"
	"github.com/birdconfd/birdconfd/test/fromtext"
	"github.com/birdconfd/birdconfd/test/shared"
)

// TestConfdTemplates renders every step with templates written for Calico's confd, in the
// style of each of its interfaces. What they make must mean what Calico's confd makes, but for
// the differences that are recorded.
func TestConfdTemplates(t *testing.T) {
	n := find(t)
	for _, release := range fromtext.Releases {
		set := fromtext.ConfdSet(t, release)
		for _, f := range scenarioFiles(t, n.dir) {
			s := readScenario(t, f)
			for _, step := range s.Steps {
				t.Run(release+"/"+s.Name+"/"+step, func(t *testing.T) {
					t.Parallel()
					stepDir := filepath.Join(filepath.Dir(f), step)
					cluster, _ := decodeStep(t, s, stepDir)
					r := cluster.RenderWith(t, set, s.Node)
					actual := t.TempDir()
					for name, text := range r.Files {
						if err := os.WriteFile(filepath.Join(actual, name), []byte(text), 0o600); err != nil {
							t.Fatal(err)
						}
					}
					for _, target := range set.Targets {
						checkStep(t, s, n.birds[target.Binary], filepath.Join(actual, target.Main()), r)
					}
					out, err := exec.Command("python3", n.comparer, filepath.Join(stepDir, "expected"), actual).CombinedOutput()
					if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
						t.Fatalf("%v: %s", err, out)
					}
					compareRecorded(t, "confd-"+release+"_", s.Name, step, string(out), n.documented)
				})
			}
		}
	}
}

// TestConfdTemplatesUseEverything wants no function and no family of keys to be left out of
// the templates that are compared.
func TestConfdTemplatesUseEverything(t *testing.T) {
	var all strings.Builder
	for _, release := range fromtext.Releases {
		files, err := filepath.Glob(filepath.Join(shared.Root(t), "testdata", "confd", release, "*", "*"))
		if err != nil || len(files) != 12 {
			t.Fatalf("%v, %v", files, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	// What changes with time or the network, and what only confd's forks have.
	others := strings.Fields("datetime lookupIP lookupIPV4 lookupIPV6 lookupSRV add sub mul div mod seq atoi parseBool reverse sortByLength sortKVByLength trimSuffix html js urlquery println print")
	for _, name := range confd.FunctionNames() {
		if !slices.Contains(others, name) && !regexp.MustCompile(`[{(\s]`+name+`[\s)}]`).MatchString(all.String()) {
			t.Errorf("no template calls %s", name)
		}
	}
	for _, key := range strings.Fields(`global/as_num node_mesh loglevel listen_port prefix_advertisements/ip_v4 prefix_advertisements/ip_v6 peer_v4 peer_v6
		ip_addr_v4 ip_addr_v6 network_v4 rr_cluster_id /v1/ipam/v4/pool /v1/ipam/v6/pool /ipv4/block /ipv6/block /staticroutes /staticroutesv6 /rejectcidrs /rejectcidrsv6
		projectcalico.org/bgpfilters projectcalico.org/bgpconfigurations /bgpconfig svc_external_ips svc_loadbalancer_ips svc_cluster_ips bind_mode ignored_interfaces
		node_mesh_restart_time node_mesh_password program_cluster_routes`) {
		if !strings.Contains(all.String(), key) {
			t.Errorf("no template asks for %s", key)
		}
	}
}
