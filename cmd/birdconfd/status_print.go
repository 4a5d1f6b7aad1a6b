package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/pkg/datastore"
)

// printReport shows a daemon's report to people.
func printReport(b *bytes.Buffer, r *daemon.Report, now time.Time) {
	state := "not ready"
	if r.Ready {
		state = "ready"
	}
	writeLine(b, 0, "birdconfd on node %s: %s (%s, since %s)", cmp.Or(r.Node, "-"), state, cmp.Or(r.Version, "-"), clock(r.Started))
	for _, reason := range r.Reasons {
		writeLine(b, 1, "%s", reason)
	}
	for _, note := range r.Notes {
		writeLine(b, 1, "note: %s", note)
	}
	writeLine(b, 0, "%s", sourceLine(r, now))
	printParts(b, &r.Source, now)
	for i := range r.Targets {
		t := &r.Targets[i]
		b.WriteByte('\n')
		printHead(b, t.Name, t.Socket, &t.Answer)
		printRestart(b, t)
		printApplied(b, &t.TargetStatus, now)
		printSessions(b, t.Sessions)
	}
	if len(r.Problems) > 0 {
		writeLine(b, 0, "\nproblems:")
		for _, p := range r.Problems {
			fmt.Fprintf(b, "  %s\n", strings.ReplaceAll(p.String(), "\n", "\n  "))
		}
	}
}

func sourceLine(r *daemon.Report, now time.Time) string {
	s := &r.Source
	if s.Kind == "" {
		return "source: not known yet"
	}
	parts := []string{"connection lost"}
	if s.Connected {
		parts[0] = "connected"
	}
	if s.Synced && !s.SyncedAt.IsZero() {
		parts = append(parts, "newest data certain"+ago(s.SyncedAt, now))
	} else if !s.Synced {
		parts = append(parts, "not read completely yet")
	}
	if s.Revision != "" {
		parts = append(parts, "revision "+s.Revision)
	}
	out := "source: " + s.Kind + ", " + strings.Join(parts, ", ")
	if s.LastError != "" {
		out += ": " + s.LastError
	}
	return out
}

// printParts shows the lists of a source that has some, those that are fine in one line. What
// is wrong with all of them has been said already.
func printParts(b *bytes.Buffer, s *datastore.Status, now time.Time) {
	var fine []string
	for _, p := range s.Parts {
		if p.Connected && p.Synced {
			fine = append(fine, fmt.Sprintf("%s %d", p.Name, p.Objects))
		}
	}
	if len(fine) > 0 {
		writeLine(b, 1, "watching: %s", strings.Join(fine, ", "))
	}
	for _, p := range s.Parts {
		if p.LastError == s.LastError {
			p.LastError = ""
		}
		switch {
		case p.Connected && p.Synced:
		case p.Synced:
			writeLine(b, 1, "%s: lost, %d in use, certain%s%s", p.Name, p.Objects, ago(p.SyncedAt, now), said(": ", p.LastError))
		default:
			writeLine(b, 1, "%s: not read yet%s", p.Name, said(": ", p.LastError))
		}
	}
}

// printHead shows what BIRD says of itself.
func printHead(b *bytes.Buffer, name, socket string, a *daemon.Answer) {
	running := a.Running
	switch {
	case socket == "":
		writeLine(b, 0, "%s: has no control socket, so that BIRD cannot be asked", name)
		return
	case a.Error != "":
		writeLine(b, 0, "%s: %s", name, a.Error)
		return
	case running == nil:
		writeLine(b, 0, "%s: BIRD said nothing", name)
		return
	}
	writeLine(b, 0, "%s: BIRD %s, up since %s, router ID %s", name, running.Version, running.Booted, cmp.Or(running.RouterID, "-"))
	if running.Reconfiguring {
		writeLine(b, 1, "reconfiguration is in progress")
	}
	if running.ShuttingDown {
		writeLine(b, 1, "it is shutting down")
	}
	printRecovery(b, a)
}

// printApplied shows what became of a target's configuration.
func printApplied(b *bytes.Buffer, t *daemon.TargetStatus, now time.Time) {
	applied := cmp.Or(t.Applied, "nothing") + " applied" + ago(t.AppliedAt, now)
	switch {
	case t.Withheld:
		writeLine(b, 1, "configuration: nothing to apply, because of a problem; %s", applied)
	case t.Desired != "" && t.Desired == t.Applied:
		writeLine(b, 1, "configuration: %s", applied)
	default:
		pending := ""
		if !t.PendingSince.IsZero() {
			pending = fmt.Sprintf(" (pending for %s)", max(0, now.Sub(t.PendingSince)).Round(time.Second))
		}
		writeLine(b, 1, "configuration: %s desired%s, %s", cmp.Or(t.Desired, "nothing"), pending, applied)
	}
	if h := t.Held; h != nil {
		writeLine(b, 1, "held back until %s: %s", clock(h.Until), h.Reason)
	}
	if a := t.Last; a != nil {
		words := said("; BIRD said: ", a.Words)
		if a.Outcome == apply.Applied && !a.Confirmed {
			words = ", not confirmed by BIRD" + said(": ", a.Words)
		}
		writeLine(b, 1, "last attempt%s: %s%s%s", ago(a.At, now), a.Outcome, said(": ", a.Error), words)
	}
	if t.Failures > 0 {
		writeLine(b, 1, "failed %d %s in a row", t.Failures, plural(t.Failures, "time"))
	}
}

// printSessions shows a table.
func printSessions(b *bytes.Buffer, sessions []daemon.Session) {
	if len(sessions) == 0 {
		return
	}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	writeRow(w, "NAME", "ADDRESS", "AS", "STATE", "SINCE", "ORIGIN", "WHAT IS WRONG")
	for i := range sessions {
		s := &sessions[i]
		address, as := "", ""
		if s.Address.IsValid() {
			address = s.Address.String()
		}
		if s.ASNumber != 0 {
			as = strconv.FormatUint(uint64(s.ASNumber), 10)
		}
		writeRow(w, s.Name, address, as, cmp.Or(s.BGPState, s.State), s.Since, s.Origin, whatIsWrong(s))
	}
	_ = w.Flush() // writes to memory
	for l := range strings.Lines(table.String()) {
		b.WriteString("  " + strings.TrimRight(l, " \n") + "\n")
	}
}

// writeRow writes cells; all but the last show that they are empty.
func writeRow(w io.Writer, cells ...string) {
	for i, c := range cells {
		if cells[i] = calico.Printable(c); c == "" && i < len(cells)-1 {
			cells[i] = "-"
		}
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
}

// whatIsWrong tells why a session does not carry routes.
func whatIsWrong(s *daemon.Session) string {
	const established = "Established"
	last := strings.TrimSpace(strings.TrimPrefix(s.Info, s.BGPState))
	switch {
	case s.Wrong != "":
		return s.Wrong
	case s.BGPState == established && s.State == "wait":
		return "it announces nothing until the recovery is over"
	case s.BGPState == established:
		return ""
	case s.State == "down":
		return cmp.Or(last, "disabled")
	case s.NodeNotReady:
		return cmp.Or(last, "not established") + "; its node is not ready"
	}
	return cmp.Or(last, "not established")
}

// writeLine writes a line of text that may come from anywhere.
func writeLine(b *bytes.Buffer, indent int, format string, args ...any) {
	for l := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		b.WriteString(strings.Repeat("  ", indent) + calico.Printable(l) + "\n")
	}
}

func said(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// ago tells how long ago something was, with a blank in front, if it is known.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " " + max(0, now.Sub(t)).Round(time.Second).String() + " ago"
}
