package settings

import (
	"crypto/tls"
	"net/url"
	"slices"
	"strings"
)

// etcd reads how etcd is reached.
func (r *reading) etcd() {
	e := &r.out.Etcd
	e.DiscoverySRV = r.get("etcdDiscoverySrv")
	r.endpoints()
	switch {
	case len(e.Endpoints) > 0 && e.DiscoverySRV != "":
		r.fail("%s and %s are both set: choose one of the two", r.name("etcdEndpoints"), r.name("etcdDiscoverySrv"))
	case r.get("etcdEndpoints") == "" && e.DiscoverySRV == "":
		r.fail("nothing says where etcd is: set %s or %s", r.name("etcdEndpoints"), r.name("etcdDiscoverySrv"))
	}
	e.Username, e.Password = r.get("etcdUsername"), NewSecret(r.get("etcdPassword"))
	switch {
	case e.Username != "" && e.Password.IsZero():
		r.fail("%s is set, but no password: Calico would go on without either", r.name("etcdUsername"))
	case e.Username == "" && !e.Password.IsZero():
		r.fail("%s is set, but no user: Calico would go on without either", r.name("etcdPassword"))
	}
	r.etcdTLS()
}

// endpoints reads a list of URLs.
func (r *reading) endpoints() {
	e, name := &r.out.Etcd, r.name("etcdEndpoints")
	schemes := map[string]bool{}
	for i, text := range strings.Split(r.get("etcdEndpoints"), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			// The text is not shown: it may have a password in it.
			r.fail("%s: entry %d is not a URL such as https://192.0.2.1:2379", name, i+1)
			continue
		case u.User != nil:
			r.fail("%s: entry %d has a user in it: use %s and %s", name, i+1, r.name("etcdUsername"), r.name("etcdPassword"))
			continue
		case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
			r.fail("%s: entry %d has something after the host and port", name, i+1)
			continue
		}
		if u.Port() == "" {
			u.Host += ":2379"
			r.note("%s: entry %d names no port, so it is 2379", name, i+1)
		}
		schemes[u.Scheme] = true
		e.Endpoints = append(e.Endpoints, u.Scheme+"://"+u.Host)
	}
	if len(schemes) > 1 {
		r.fail("%s has both http and https: passwords and data would go in the clear now and then", name)
	}
	if r.get("etcdEndpoints") != "" && len(e.Endpoints) == 0 && len(r.errs) == 0 {
		r.fail("%s names no endpoint", name)
	}
}

// etcdTLS reads certificates and what handshakes may use.
func (r *reading) etcdTLS() {
	e := &r.out.Etcd
	files, texts := []string{"etcdCACertFile", "etcdCertFile", "etcdKeyFile"}, []string{"etcdCACert", "etcdCert", "etcdKey"}
	some := func(list []string) int { return slices.IndexFunc(list, func(k string) bool { return r.get(k) != "" }) }
	file, text := some(files), some(texts)
	if file >= 0 && text >= 0 {
		r.fail("%s and %s are both set: use files or texts, not both", r.name(files[file]), r.name(texts[text]))
		return
	}
	r.pair("etcdCertFile", "etcdKeyFile")
	r.pair("etcdCert", "etcdKey")
	e.CAFile, e.CertFile, e.KeyFile = r.present("etcdCACertFile"), r.present("etcdCertFile"), r.present("etcdKeyFile")
	e.CA, e.Cert, e.Key = NewSecret(r.get("etcdCACert")), NewSecret(r.get("etcdCert")), NewSecret(r.get("etcdKey"))
	if (file >= 0 || text >= 0) && len(e.Endpoints) > 0 && strings.HasPrefix(e.Endpoints[0], "http://") {
		name := ""
		if file >= 0 {
			name = r.name(files[file])
		} else {
			name = r.name(texts[text])
		}
		r.fail("%s is set, but the endpoints are http, so that it has no effect: write https", name)
	}
	r.handshakes()
}

// Variables of Calico about TLS, which its file cannot have.
const (
	minVersionVariable = "TLS_MIN_VERSION"
	suitesVariable     = "TLS_CIPHER_SUITES"
)

func (r *reading) handshakes() {
	e := &r.out.Etcd
	e.TLSMinVersion = tls.VersionTLS12
	switch v, _ := r.in.Lookup(minVersionVariable); v {
	case "", "1.2":
	case "1.3":
		e.TLSMinVersion = tls.VersionTLS13
	default:
		r.fail("%s is %.20q: it is 1.2 or 1.3", minVersionVariable, v)
	}
	list, _ := r.in.Lookup(suitesVariable)
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		known := slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites())
		i := slices.IndexFunc(known, func(s *tls.CipherSuite) bool { return s.Name == name })
		if i < 0 {
			r.fail("%s: there is no suite %.60q", suitesVariable, name)
			continue
		}
		if known[i].Insecure {
			r.note("%s: %s is not secure", suitesVariable, name)
		}
		e.CipherSuites = append(e.CipherSuites, known[i].ID)
	}
	if len(e.CipherSuites) > 0 && e.TLSMinVersion == tls.VersionTLS13 {
		r.note("%s has no effect with TLS 1.3", suitesVariable)
	}
}
