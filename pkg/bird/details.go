package bird

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// Detail is what "show protocols all" says of a protocol.
type Detail struct {
	Protocol
	// BGPState is the state of RFC 4271 section 8.2.2, or BIRD's own Close, Passive or
	// Down; "" for what is not BGP.
	BGPState string
	// NeighborAddress is as BIRD writes it, with the interface of a link-local address.
	NeighborAddress string
	// LastError is that of the session, "" for none.
	LastError string
	// HoldsRecovery tells that BIRD's own recovery waits for the session, or for one of
	// its channels.
	HoldsRecovery bool
	// AwaitsRecovery tells that the protocol, or one of its channels, exports nothing
	// until that recovery is over.
	AwaitsRecovery bool
	// RestartingPeer tells that the neighbor is restarting, and that its routes are kept
	// until it has sent them again, also once the session is up (RFC 4724 section 4.2).
	RestartingPeer bool
}

// Exchanges is Protocol.Exchanges for all versions, as 2.0 and newer tell only here whether
// a recovery holds back what is exported.
func (d Detail) Exchanges() bool { return d.Protocol.Exchanges() && !d.AwaitsRecovery }

const codeProtocolDetails = 1006

// parseDetails reads a "show protocols all" reply.
func parseDetails(r Reply) []Detail {
	var details []Detail
	last := -1
	for _, line := range r.Lines {
		switch line.Code {
		case codeProtocolRow:
			last = -1
			if p, ok := ParseProtocol(line.Text); ok {
				last = len(details)
				details = append(details, Detail{Protocol: p})
			}
		case codeProtocolDetails:
			if last >= 0 {
				details[last].read(strings.TrimSpace(line.Text))
			}
		}
	}
	return details
}

// read reads a line of the details. Those of channels are like those of protocols.
func (d *Detail) read(text string) {
	if text == "Neighbor graceful restart active" {
		d.RestartingPeer = true
		return
	}
	label, value, ok := strings.Cut(text, ":")
	if !ok {
		return
	}
	value = strings.TrimSpace(value)
	switch label {
	case "BGP state":
		d.BGPState = value
	case "Neighbor address":
		d.NeighborAddress = value
	case "Last error":
		d.LastError = value
	case "GR recovery":
		d.HoldsRecovery = d.HoldsRecovery || strings.Contains(value, "pending")
		d.AwaitsRecovery = d.AwaitsRecovery || strings.Contains(value, "waiting")
	}
}

// Codes of answers about single protocols.
const (
	codeAlreadyDisabled = 8
	codeRestarted       = 12
	codeNoneMatches     = 8003
	codeNotUnderstood   = 9001
	codeNoProtocol      = 9002
)

// unknownProtocol tells whether BIRD has no protocol of the name that it was asked about.
// BIRD 2.0 and newer do not understand a name that is none in their configuration.
func unknownProtocol(code int) bool {
	return code == codeNoneMatches || code == codeNotUnderstood || code == codeNoProtocol
}

// Details asks for the details of the protocols of these names, or of all. Those that BIRD
// does not have are left out. Each name is a question of its own: for hundreds it is faster
// to ask for all.
func (c *Conn) Details(ctx context.Context, names ...string) ([]Detail, error) {
	if len(names) == 0 {
		reply, err := c.askFor(ctx, "show protocols all", codeDone)
		return parseDetails(reply), err
	}
	var details []Detail
	for _, name := range names {
		command, err := naming("show protocols all", name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.at, err)
		}
		reply, err := c.Ask(ctx, command)
		switch {
		case err != nil:
			return nil, err
		case reply.Code == codeDone:
			details = append(details, parseDetails(reply)...)
		case !unknownProtocol(reply.Code):
			return nil, c.refused(command, reply)
		}
	}
	return details, nil
}

// Restart has BIRD restart a protocol: it closes the session and opens it again. It tells
// whether BIRD did, false if the protocol is disabled or unknown. An error may have a
// *RefusedError.
func (c *Conn) Restart(ctx context.Context, name string) (bool, error) {
	command, err := naming("restart", name)
	if err != nil {
		return false, fmt.Errorf("%s: %w", c.at, err)
	}
	reply, err := c.Ask(ctx, command)
	switch {
	case err != nil:
		return false, err
	case unknownProtocol(reply.Code):
		return false, nil
	case reply.Code == codeDone && reply.has(codeRestarted):
		return true, nil
	case reply.Code == codeDone && reply.has(codeAlreadyDisabled):
		return false, nil
	}
	return false, c.refused(command, reply)
}

var symbol = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// naming adds the name of one protocol to a command. It is quoted, as names with some
// characters must be. "all" is no name, but BIRD's word for all protocols, quoted or not.
func naming(command, name string) (string, error) {
	if !symbol.MatchString(name) || strings.EqualFold(name, "all") {
		return "", fmt.Errorf("%s: %.100q is not the name of a protocol", command, name)
	}
	return command + " '" + name + "'", nil
}
