package etcd

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// dns answers with SRV records for some names, on a port of this host: to port 0 of no host,
// and with an error for a name without ports.
func dns(t *testing.T, records map[string][]uint16) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 4096)
		for {
			n, from, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			q := m.Questions[0]
			for _, port := range records[q.Name.String()] {
				if q.Type != dnsmessage.TypeSRV {
					continue
				}
				target := "etcd.example.org."
				if port == 0 {
					target = "."
				}
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body: &dnsmessage.SRVResource{Port: port, Target: dnsmessage.MustNewName(target)}})
			}
			if ports, known := records[q.Name.String()]; !known {
				m.RCode = dnsmessage.RCodeNameError
			} else if len(ports) == 0 {
				m.RCode = dnsmessage.RCodeServerFailure
			}
			if answer, err := m.Pack(); err == nil {
				_, _ = c.WriteTo(answer, from)
			}
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", c.LocalAddr().String())
	}}
	t.Cleanup(func() { net.DefaultResolver = before; c.Close(); <-done })
}

func TestDiscovery(t *testing.T) {
	const secure, plain = "_etcd-client-ssl._tcp.example.org.", "_etcd-client._tcp.example.org."
	for name, c := range map[string]struct {
		records map[string][]uint16
		want    []string // none for an error
	}{
		"plain":       {map[string][]uint16{plain: {2379, 2380}}, []string{"http://etcd.example.org:2379", "http://etcd.example.org:2380"}},
		"with TLS":    {map[string][]uint16{secure: {2379}}, []string{"https://etcd.example.org:2379"}},
		"TLS if both": {map[string][]uint16{secure: {2379}, plain: {2380}}, []string{"https://etcd.example.org:2379"}},
		"none":        {nil, nil},
		"no host":     {map[string][]uint16{secure: {0}, plain: {0}}, nil},
		// There may be some with TLS, so that those without are not to be used.
		"an error": {map[string][]uint16{secure: {}, plain: {2379}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dns(t, c.records)
			got, err := discover(t.Context(), "example.org")
			slices.Sort(got)
			if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), "SRV records of example.org") {
				t.Error(err)
			}
		})
	}
}

func TestDiscoveryEndsWithItsContext(t *testing.T) {
	dns(t, map[string][]uint16{"_etcd-client._tcp.example.org.": {2379}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := discover(ctx, "example.org"); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("%q, %v", got, err)
	}
}
