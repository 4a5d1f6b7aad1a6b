package bird

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// ConfiguredSession is a BGP protocol as a configuration defines it.
type ConfiguredSession struct {
	Name string
	// Text is the protocol with its block, without comments, and with a blank only where
	// one may make a difference. BIRD reads equal texts alike, as long as what they refer
	// to is the same: templates, filters, constants, included files.
	Text string
	// Template is the name after "from", "" for none.
	Template string
	// GracefulRestartOff tells that the block itself, not its template, turns graceful
	// restart off (RFC 4724). A channel's own statement does not count: BIRD's recovery
	// waits for the session all the same.
	GracefulRestartOff bool
}

// ReadSessions lists the BGP protocols that a configuration file defines, in order.
// Templates are no protocols; protocols without a name are left out, as only BIRD knows how
// it calls them. It does not follow lines that include other files. What it makes of a text
// that BIRD refuses is of no use, but does no harm.
func ReadSessions(config []byte) []ConfiguredSession {
	var sessions []ConfiguredSession
	for s := range statements(config) {
		name, ok := s.bgpProtocol()
		if !ok {
			continue
		}
		session := ConfiguredSession{Name: name, Text: string(s.text)}
		if len(s.head) > 4 && string(s.head[3]) == "from" {
			session.Template = unquoted(s.head[4])
		}
		for line := range s.lines() {
			if startsWith(line, "graceful", "restart") && !startsWith(line[2:], "time") {
				session.GracefulRestartOff = len(line) == 3 && isOff(string(line[2]))
			}
		}
		sessions = append(sessions, session)
	}
	return sessions
}

// BGPProtocols lists the names of the BGP protocols that a configuration file defines, in
// order, as ReadSessions does.
func BGPProtocols(config []byte) []string {
	var names []string
	for s := range statements(config) {
		if name, ok := s.bgpProtocol(); ok {
			names = append(names, name)
		}
	}
	return names
}

func (s statement) bgpProtocol() (name string, ok bool) {
	if len(s.head) < 3 || !startsWith(s.head, "protocol", "bgp") || string(s.head[2]) == "from" || !isName(s.head[2]) {
		return "", false
	}
	return unquoted(s.head[2]), true
}

func unquoted(token []byte) string { return string(bytes.Trim(token, "'")) }

// startsWith tells whether tokens begin with these words.
func startsWith(tokens [][]byte, words ...string) bool {
	return len(tokens) >= len(words) && slices.EqualFunc(tokens[:len(words)], words, func(t []byte, w string) bool { return string(t) == w })
}

// isOff tells whether a word stands for false where BIRD wants a truth value.
func isOff(word string) bool { return word == "off" || word == "no" || word == "0" }

// StartSettings are the statements of a configuration that BIRD heeds only when it starts;
// later it reads them and goes on with what it had. They are comparable texts.
type StartSettings struct {
	// RecoveryWait is "graceful restart wait N;", "" for BIRD's default.
	RecoveryWait string
	// Listen are all "listen bgp ...;" of BIRD 1.6, which add up. Newer versions have none.
	Listen string
}

// Change is a statement that BIRD heeds only when it starts.
type Change struct {
	// Statement is its first words, Running what BIRD started with and Configured what it
	// will start with next, as texts for people.
	Statement, Running, Configured string
}

// Changes lists what is different in another configuration.
func (s StartSettings) Changes(next StartSettings) []Change {
	var out []Change
	for _, of := range []struct{ statement, running, configured, none string }{
		{"graceful restart wait", s.RecoveryWait, next.RecoveryWait, "240 seconds, BIRD's default"},
		{"listen bgp", s.Listen, next.Listen, "BIRD's default"},
	} {
		if of.running != of.configured {
			value := func(text string) string {
				return cmp.Or(strings.ReplaceAll(strings.TrimSuffix(strings.ReplaceAll(text, of.statement+" ", ""), ";"), ";", ", "), of.none)
			}
			out = append(out, Change{of.statement, value(of.running), value(of.configured)})
		}
	}
	return out
}

// ReadStartSettings reads them from the top level of a configuration file. It does not
// follow lines that include other files.
func ReadStartSettings(config []byte) StartSettings {
	var settings StartSettings
	for s := range statements(config) {
		switch {
		case startsWith(s.head, "graceful", "restart", "wait"):
			settings.RecoveryWait = string(s.text) // the last one wins
		case startsWith(s.head, "listen", "bgp"):
			settings.Listen += string(s.text)
		}
	}
	return settings
}

// ReadCommon lists what a change of makes BIRD start many or all sessions anew: the templates
// of BGP protocols and the router id, each as a text like that of a ConfiguredSession. It does
// not follow lines that include other files.
func ReadCommon(config []byte) []string {
	var common []string
	for s := range statements(config) {
		if startsWith(s.head, "template", "bgp") || startsWith(s.head, "router", "id") {
			common = append(common, string(s.text))
		}
	}
	return common
}
