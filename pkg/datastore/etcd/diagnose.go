package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"
)

// diagnose finds out why there is no connection, which the client does not tell: it tries
// each endpoint by hand and returns what is wrong with all of them; nil when one works.
func (c Connection) diagnose(ctx context.Context, endpoints []string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	config, err := c.tls(endpoints)
	if err != nil {
		return err
	}
	var all []string
	for _, endpoint := range endpoints {
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return nil // something that only the client understands
		}
		if err = dial(ctx, u.Host, config); err == nil {
			return nil
		}
		all = append(all, err.Error())
	}
	return errors.New(strings.Join(all, "; "))
}

// dial connects to a host and port, and makes the handshake if there is to be one.
func dial(ctx context.Context, address string, config *tls.Config) error {
	if config == nil {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			c.Close()
		}
		return err
	}
	c, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	// With TLS 1.3 a server refuses a client's certificate only after the handshake.
	_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	_, err = c.Read(make([]byte, 1))
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return nil
	}
	return err
}
