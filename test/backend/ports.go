package backend

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are chosen below those that Linux gives to connections that go out, one of which
// could otherwise have the port of a server when that is started again.
const (
	firstPort = 12000
	lastPort  = 32000
	// portTries is how often servers are started with other ports when somebody has
	// taken one in the meantime.
	portTries = 10
)

// freePorts returns ports of 127.0.0.1 that nobody listened on a moment ago.
func freePorts(n int) ([]int, error) {
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		if tries > 1000 {
			return nil, fmt.Errorf("no free ports from %d to %d", firstPort, lastPort)
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp", hostPort(port))
		if err != nil {
			continue
		}
		defer l.Close() // not before all are chosen, so that they differ
		ports = append(ports, port)
	}
	return ports, nil
}

func hostPort(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
