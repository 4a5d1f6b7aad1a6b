package lab

import (
	"bufio"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func (l *lab) socket(host, daemon string) string {
	return filepath.Join(l.dir(host), daemon+".ctl")
}

// final is the last line of a reply on BIRD's control socket: a code and a blank.
var final = regexp.MustCompile(`^\d{4} `)

// ask sends one command to a daemon and returns the reply, "" when it does not answer.
func (l *lab) ask(host, daemon, command string) string {
	conn, err := net.Dial("unix", l.socket(host, daemon))
	if err != nil {
		return "" // it has not started yet
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		l.t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	if _, err := r.ReadString('\n'); err != nil { // the greeting
		return ""
	}
	if _, err := conn.Write([]byte(command + "\n")); err != nil {
		return ""
	}
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		b.WriteString(line)
		if err != nil || final.MatchString(line) {
			return b.String()
		}
	}
}

// until asks a daemon again and again until the reply is as wanted.
func (l *lab) until(host, daemon, command string, good func(string) bool) {
	l.t.Helper()
	var reply string
	l.untilTrue(host+" "+daemon+": "+command, func() bool {
		reply = l.ask(host, daemon, command)
		return good(reply)
	}, &reply)
}

func (l *lab) untilTrue(what string, good func() bool, last ...*string) {
	l.t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !good() {
		select {
		case <-tick.C:
		case <-limit:
			for _, s := range last {
				what += "\n" + *s
			}
			l.t.Fatalf("still not so after %v: %s", patience, what)
		}
	}
}
