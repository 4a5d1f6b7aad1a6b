package render

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// birdCommand is what commands tell about a BIRD daemon.
type birdCommand struct {
	// name is what the daemon is called, and program what checks its files; "" for none.
	name, program string
	// socket is where the commands expect the control socket.
	socket string
	// calico tells that the daemon is a service of calico/node.
	calico bool
}

var (
	// A program that checks a file, such as bird -p -c FILE.
	checkProgram = regexp.MustCompile(`(?:^|[\s;&|(])((?:/\S*/)?bird[0-9]?)\s+(?:\S+\s+)*?-[a-zA-Z]*p`)
	// A service of runit, as calico/node has them.
	runitService = regexp.MustCompile(`(?:^|[\s;&|(/])sv(?:\s+-\w+(?:\s+\d+)?)*\s+\S+\s+(?:/\S*/)?(bird[0-9]?)\b`)
	// Any other command that names a daemon.
	otherService = regexp.MustCompile(`(?:^|[\s;&|(/])(bird[0-9]?)(?:\.service)?(?:$|[\s;&|)])`)
	birdClient   = regexp.MustCompile(`(?:^|[\s;&|(/])birdcl?([0-9]?)\s`)
	clientSocket = regexp.MustCompile(`birdcl?[0-9]?\s+(?:\S+\s+)*?-s\s*["']?(/[^\s"']+)`)
	// What makes a failure look like success.
	alwaysTrue = regexp.MustCompile(`\|\|\s*(?:true|:|/bin/true)\s*$`)
	// A check that does nothing but check.
	plainCheck = regexp.MustCompile(`^(?:/\S*/)?bird[0-9]?(?:\s+(?:-p|-c|-pc|\{\{\s*\.src\s*\}\}))+$`)
)

// birdOf finds out about the daemon of resources, the main one first.
func (l *confdirLoader) birdOf(g []*resource) birdCommand {
	var b birdCommand
	for _, r := range g {
		if m := checkProgram.FindStringSubmatch(r.check); m != nil && b.program == "" {
			b.program, b.name = m[1], filepath.Base(m[1])
		}
	}
	for _, r := range g {
		if m := runitService.FindStringSubmatch(r.reload); m != nil {
			b.name, b.calico = m[1], true
		} else if m := otherService.FindStringSubmatch(r.reload); m != nil && b.name == "" {
			b.name = m[1]
		} else if m := birdClient.FindStringSubmatch(r.reload); m != nil && b.name == "" {
			b.name = "bird" + m[1]
		}
		if m := clientSocket.FindStringSubmatch(r.reload); m != nil {
			b.socket = m[1]
		}
	}
	if b.program == "" {
		b.program = b.name
	}
	if b.program != "" && l.o.BirdDir != "" {
		b.program = l.absolute(filepath.Join(l.o.BirdDir, filepath.Base(b.program)))
	}
	if b.socket == "" && b.calico {
		b.socket = filepath.Join(defaultSockets, b.name+".ctl")
	}
	return b
}

// familiesOf tells which Views templates need. bird6 is for IPv6; elsewhere it is what they
// ask for.
func familiesOf(g []*resource, b birdCommand) []bgp.Family {
	if strings.HasSuffix(b.name, "6") {
		return []bgp.Family{bgp.IPv6}
	}
	var out []bgp.Family
	for _, f := range bgp.Families {
		mark := regexp.MustCompile(fmt.Sprintf(`\bgetBGPConfig\s+%d\b|\bpeer_v%d\b`, f, f))
		if slices.ContainsFunc(g, func(r *resource) bool { return mark.MatchString(r.source) }) {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		out = []bgp.Family{bgp.IPv4}
	}
	return out
}

// commands decides how the files of a target are checked and how its daemon reads them; false
// when that cannot be.
func (l *confdirLoader) commands(t *placed, g []*resource, b birdCommand) bool {
	main := g[0]
	reload := main.reload
	for _, r := range g {
		reload = cmp.Or(reload, r.reload)
	}
	if path := l.o.Sockets[t.Name]; path != "" {
		b.socket = l.absolute(path)
	}
	if b.program == "" && l.o.Check != CheckOff { // it is no BIRD: there are only commands
		t.Check = CheckRequire
		if !slices.ContainsFunc(g, func(r *resource) bool { return r.check != "" }) {
			t.Check = CheckOff
		}
	}
	useSocket := l.o.Reload == ReloadSocket || l.o.Reload == ReloadAuto && b.socket != ""
	switch {
	case useSocket && b.socket == "" && b.program == "":
		useSocket = false // there is nothing that could have one
	case useSocket && b.socket == "":
		l.add(t.at, newFault(calico.RuleMissingField, fmt.Sprintf("name it, as in --socket %s=/run/bird/bird.ctl, or reload by command", t.Name),
			"target %q: nothing tells where its control socket is", t.Name))
		return false
	}
	if useSocket {
		var f *fault
		if t.Socket, f = socketValue(b.socket); f != nil {
			l.add(t.at, f)
			return false
		}
		for _, r := range g {
			if r.check != "" && !plainCheck.MatchString(r.check) {
				l.warn(r.at("check_cmd"), calico.RuleBirdCheck, fmt.Sprintf("target %q: check_cmd is not used, since BIRD's own program checks all files together", t.Name), "--reload command uses it")
			}
		}
		return true
	}
	for _, r := range g {
		// A BIRD that is only asked to check is asked directly, and understood better.
		if r.check != "" && l.o.Check != CheckOff && !plainCheck.MatchString(r.check) {
			if t.CheckCommands == nil {
				t.CheckCommands = map[string]string{}
			}
			t.CheckCommands[filepath.Base(r.dest)] = r.check
		}
	}
	if reload == "" {
		return true
	}
	if alwaysTrue.MatchString(reload) {
		l.warn(main.at("reload_cmd"), calico.RuleReload, fmt.Sprintf("target %q: the command hides that it fails, so nobody knows whether the daemon uses the files", t.Name),
			"leave out the end of the command, or name the control socket with --socket")
	}
	t.Reload = &ReloadConfig{Command: []string{"/bin/sh", "-c", reload}, Timeout: defaultReloadTimeout}
	return true
}
