package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/render"
	"github.com/birdconfd/birdconfd/pkg/render/confd"
)

// commonOptions are the flags that render and run share.
type commonOptions struct {
	datastore      string
	calicoConfig   string
	node           string
	output         string
	endpointStatus string
	set            string
	templates      string
	check          string
	birdDir        string
	family         string
	confdir        string
	calicoRelease  string
	format         string
}

// computeOptions are the settings that come from Calico's own variables.
func (o *commonOptions) computeOptions(env environment) (bgp.Options, error) {
	out := bgp.Options{
		RouterID:            env.getenv("CALICO_ROUTER_ID"),
		AdvertiseClusterIPs: env.getenv("CALICO_ADVERTISE_CLUSTER_IPS"),
		KubernetesNode:      env.getenv("CALICO_K8S_NODE_REF"),
		SecretNamespace:     env.getenv("NAMESPACE"),
		Families:            o.families(),
	}
	if v := env.calicoVariable("USE_POD_CIDR"); v != "" {
		use, err := strconv.ParseBool(v)
		if err != nil {
			return out, usage("environment variable USE_POD_CIDR: %q is neither true nor false", v)
		}
		out.UsePodCIDR = use
	}
	return out, nil
}

// calicoEndpointStatus is where Calico's agent writes endpoint status unless told otherwise.
const calicoEndpointStatus = "/var/run/calico/endpoint-status"

// endpointStatusDir is the directory of endpoint-status files, "" for none. It must exist
// only if it was asked for by the flag.
func (o *commonOptions) endpointStatusDir(env environment) (dir string, must bool) {
	prefix := env.getenv("CALICO_ENDPOINT_STATUS_PATH_PREFIX")
	switch {
	case o.endpointStatus != "":
		return o.endpointStatus, true
	case prefix != "":
		return filepath.Join(prefix, "endpoint-status"), false
	}
	return "", false
}

// confdirFlag adds the flag that names a confd directory.
func (o *commonOptions) confdirFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.confdir, "confdir", "", "directory with conf.d and templates as Calico's confd has it, such as /etc/calico/confd")
	_ = cmd.MarkFlagDirname("confdir") // fails only for a flag that is not there
	o.calicoRelease = releaseAuto
	choose(cmd, &o.calicoRelease, "calico-release", "what getBGPConfig gives to templates of --confdir: as in Calico 3.32, or since 3.33; auto: 3.33 where the keys have /bgpconfig",
		releaseAuto, string(confd.Only332), string(confd.From333))
}

// releaseAuto tells Calico's releases apart by what templates ask for.
const releaseAuto = "auto"

// confdirOptions are what both subcommands say about a confd directory.
func (o *commonOptions) confdirOptions() render.ConfdirOptions {
	out := render.ConfdirOptions{Dir: o.confdir}
	if o.calicoRelease != releaseAuto {
		out.Generation = confd.Generation(o.calicoRelease)
	}
	return out
}

// besideConfdir are the flags that a confd directory excludes, as far as they are given.
func (o *commonOptions) besideConfdir(cmd *cobra.Command, names ...string) error {
	if o.confdir == "" {
		return nil
	}
	var clash []string
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			clash = append(clash, "--"+name)
		}
	}
	if len(clash) > 0 {
		return fmt.Errorf("%s cannot be used with --confdir, whose conf.d says what to render, and where to", strings.Join(clash, ", "))
	}
	return nil
}

// families are those that --family names.
func (o *commonOptions) families() []bgp.Family {
	return map[string][]bgp.Family{"all": bgp.Families, "ipv4": {bgp.IPv4}, "ipv6": {bgp.IPv6}}[o.family]
}
