package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Connection says how etcd is reached.
type Connection struct {
	// Endpoints are URLs. Without any they are looked up in the SRV records of DiscoverySRV, a
	// DNS domain: _etcd-client-ssl._tcp for https, else _etcd-client._tcp for http.
	Endpoints    []string
	DiscoverySRV string
	// Username and Password are both set or both not.
	Username, Password string
	// CAFile, CertFile and KeyFile are PEM files, read for each connection; CA, Cert and Key
	// are PEM texts in their place. A certificate and its key are both set or both not.
	CAFile, CertFile, KeyFile string
	CA, Cert, Key             string
	// MinVersion and CipherSuites are those of crypto/tls, zero for its defaults.
	MinVersion   uint16
	CipherSuites []uint16
	// KeepAlive is after what time without a word the server is asked whether it lives, and
	// KeepAliveTimeout how long the answer may take; 30 s and 10 s when zero.
	KeepAlive, KeepAliveTimeout time.Duration
}

// Connect makes a client that is of use until the context ends. It waits for a server only to
// log in, for 10 s at most. Files and SRV records are read for each client anew. Its errors
// hold no secret.
func (c Connection) Connect(ctx context.Context) (*clientv3.Client, error) {
	config := clientv3.Config{Context: ctx, Endpoints: c.Endpoints, Username: c.Username, Password: c.Password,
		DialTimeout: 10 * time.Second, DialKeepAliveTime: 30 * time.Second, DialKeepAliveTimeout: 10 * time.Second,
		PermitWithoutStream: true, Logger: zap.NewNop()}
	if c.KeepAlive > 0 {
		config.DialKeepAliveTime = c.KeepAlive
	}
	if c.KeepAliveTimeout > 0 {
		config.DialKeepAliveTimeout = c.KeepAliveTimeout
	}
	if len(c.Endpoints) == 0 {
		found, err := discover(ctx, c.DiscoverySRV)
		if err != nil {
			return nil, err
		}
		config.Endpoints = found
	}
	var err error
	if config.TLS, err = c.tls(config.Endpoints); err != nil {
		return nil, err
	}
	client, err := clientv3.New(config)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = cmp.Or(c.diagnose(ctx, config.Endpoints), err)
	}
	return client, err
}

// discover looks up endpoints in the DNS: those with TLS if there are any, so that a member
// that offers both is not talked to in the clear.
func discover(ctx context.Context, domain string) ([]string, error) {
	fault := errors.New("they name no host")
	for _, by := range []struct{ service, scheme string }{{"etcd-client-ssl", "https"}, {"etcd-client", "http"}} {
		_, found, err := net.DefaultResolver.LookupSRV(ctx, by.service, "tcp", domain)
		if e, ok := errors.AsType[*net.DNSError](err); ok && !e.IsNotFound {
			// Nobody knows whether there are any with TLS.
			return nil, fmt.Errorf("look up SRV records of %s: %w", domain, err)
		}
		var endpoints []string
		for _, r := range found {
			if host := strings.TrimSuffix(r.Target, "."); host != "" { // a lone dot is no host (RFC 2782)
				endpoints = append(endpoints, by.scheme+"://"+net.JoinHostPort(host, strconv.Itoa(int(r.Port))))
			}
		}
		if len(endpoints) > 0 {
			return endpoints, nil
		}
		if err != nil {
			fault = err
		}
	}
	return nil, fmt.Errorf("look up SRV records of %s: %w", domain, fault)
}

// tls makes what TLS needs; nil when no endpoint wants it.
func (c Connection) tls(endpoints []string) (*tls.Config, error) {
	secure := false
	for _, endpoint := range endpoints {
		secure = secure || strings.HasPrefix(endpoint, "https://") || strings.HasPrefix(endpoint, "unixs://")
	}
	if !secure {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: c.CipherSuites}
	if c.MinVersion != 0 {
		config.MinVersion = c.MinVersion
	}
	ca, err := text(c.CA, c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("CA certificates: %w", err)
	}
	if len(ca) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("CA certificates: there is none in what is configured")
		}
	}
	if c.Cert == "" && c.CertFile == "" {
		return config, nil
	}
	// Once now, to say at once what is wrong, and then for each handshake, since the client
	// connects again by itself.
	if _, err := c.pair(); err != nil {
		return nil, err
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.pair() }
	return config, nil
}

func (c Connection) pair() (*tls.Certificate, error) {
	cert, err := text(c.Cert, c.CertFile)
	if err != nil {
		return nil, fmt.Errorf("client certificate: %w", err)
	}
	key, err := text(c.Key, c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("client key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("client certificate and key: %w", err)
	}
	return &pair, nil
}

// text returns a text that is given, or that of a file.
func text(given, path string) ([]byte, error) {
	if given != "" || path == "" {
		return []byte(given), nil
	}
	return os.ReadFile(path)
}
