package bird

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// daemonKinds are the daemons that the tests talk to.
var daemonKinds = []struct {
	name    string
	binary  func(testing.TB) string
	statics func(name string, n int) string
}{
	{"bird 1.6", birdtest.Bird, func(name string, n int) string { return statics(name, "", "10.%d.%d.%d/32", n) }},
	{"bird6 1.6", birdtest.Bird6, func(name string, n int) string { return statics(name, "", "2001:db8:%x:%x::%x/128", n) }},
	{"bird 2", birdtest.Bird2, func(name string, n int) string { return statics(name, "ipv4;", "10.%d.%d.%d/32", n) }},
}

const base = "log stderr all;\nrouter id 10.0.0.1;\nprotocol device { }\n"

// many are so many routes that BIRD needs a while to get rid of them.
const many = 30_000

// statics is a configuration with a protocol of this name and n routes.
func statics(name, channel, prefix string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%sprotocol static %s { %s\n", base, name, channel)
	for i := range n {
		fmt.Fprintf(&b, "route "+prefix+" blackhole;\n", i>>16, i>>8&0xff, i&0xff)
	}
	return b.String() + "}\n"
}

func client(d *birdtest.Daemon) Client { return Client{Socket: d.Socket} }

func dial(t *testing.T, c Client) *Conn {
	t.Helper()
	conn, err := c.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// write adds a file to the daemon's directory.
func write(t *testing.T, d *birdtest.Daemon, name, text string) string {
	t.Helper()
	path := filepath.Join(d.Dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// until waits for a condition.
func until(t *testing.T, what string, good func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for !good() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("still not so: %s", what)
		}
	}
}

const (
	greeting = "0001 BIRD 1.6.8 ready.\n"
	hangUp   = "(hang up)"
)

// fake stands in for BIRD where a real one would not give such answers. It calls answer
// with an empty command for the greeting, and then with each command and its number, and
// says nothing when the answer is empty.
func fake(t *testing.T, answer func(n int, command string) string) Client {
	t.Helper()
	// It is done with a connection when that is closed.
	return Client{Socket: birdtest.Listen(t, func(conn net.Conn) { serve(conn, answer) }, nil)}
}

func serve(conn net.Conn, answer func(n int, command string) string) {
	defer conn.Close()
	in := bufio.NewScanner(conn)
	command := ""
	for n := 0; ; n++ {
		text, ends := strings.CutSuffix(answer(n, command), hangUp)
		if _, err := conn.Write([]byte(text)); err != nil || ends || !in.Scan() {
			return
		}
		command = in.Text()
	}
}

// script answers with one text after the other, and then with the last one again.
func script(answers ...string) func(int, string) string {
	return func(n int, _ string) string { return answers[min(n, len(answers)-1)] }
}

func TestFakeStopsWithTheTest(t *testing.T) {
	c := fake(t, script(greeting, ""))
	if v := dial(t, c).Version(); v != (Version{1, 6, 8}) {
		t.Errorf("version %v", v)
	}
}
