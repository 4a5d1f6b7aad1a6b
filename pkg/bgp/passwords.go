package bgp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// MaxPassword is the longest key of TCP MD5 signatures (TCP_MD5SIG_MAXKEYLEN in Linux), in bytes.
const MaxPassword = 80

// password is the outcome of looking one up, kept so that it is reported once.
type password struct {
	value Secret
	ok    bool
}

// peerPassword returns a BGPPeer's password, unset when it asks for none; false when it
// asks for one that cannot be used, and the peer must be held back.
func (k *calculation) peerPassword(p *calico.BGPPeer) (Secret, bool) {
	if p.Password == nil {
		return Secret{}, true
	}
	r, known := k.passwords[p]
	if !known {
		r.value, r.ok = k.password(&p.Meta, p.Password, "spec.password.secretKeyRef", "the peer is")
		k.passwords[p] = r
	}
	return r.value, r.ok
}

// meshPassword returns the password of all mesh sessions likewise.
func (k *calculation) meshPassword() (Secret, bool) {
	if k.config.NodeMeshPassword == nil {
		return Secret{}, true
	}
	return k.password(&k.config.Meta, k.config.NodeMeshPassword, "spec.nodeMeshPassword.secretKeyRef", "all mesh sessions are")
}

func (k *calculation) password(m *calico.Meta, ref *calico.SecretKeyRef, field, who string) (Secret, bool) {
	if ref.Name == "" || ref.Key == "" {
		k.report(m.Problem(calico.Error, calico.RulePassword, field,
			"the reference to a password is incomplete; "+who+" held back, since a session without its password is not what was asked for", ""))
		return Secret{}, false
	}
	value, fault := k.lookUp(ref)
	hint := ""
	if fault != "" {
		hint = k.missingHint(ref)
	} else if line, ok := strings.CutSuffix(value, "\n"); ok {
		line = strings.TrimSuffix(line, "\r")
		if fault = unusablePassword(line); fault == "" {
			k.report(m.Problem(calico.Warning, calico.RulePassword, field,
				fmt.Sprintf("the value of key %q in %s ends in a line break, which is left out", ref.Key, k.secretName(ref)),
				"make the Secret without a trailing newline (echo -n, printf)"))
			return NewSecret(line), true
		}
	} else if fault = unusablePassword(value); fault == "" {
		return NewSecret(value), true
	}
	k.report(m.Problem(calico.Error, calico.RulePassword, field,
		fmt.Sprintf("the password in key %q of %s %s; %s held back, since a session without its password is not what was asked for",
			ref.Key, k.secretName(ref), fault, who), hint))
	return Secret{}, false
}

// missingHint looks for the Secret in other namespaces, where it is of no use.
func (k *calculation) missingHint(ref *calico.SecretKeyRef) string {
	for _, key := range slices.Sorted(maps.Keys(k.Secrets)) {
		if s := k.Secrets[key]; s.Name == ref.Name && s.Namespace != k.o.SecretNamespace {
			return fmt.Sprintf("there is one in namespace %s; it must be in %s, or the variable NAMESPACE must name its namespace",
				s.Namespace, k.o.SecretNamespace)
		}
	}
	return "create it; in Kubernetes, check that this node may read it"
}

func (k *calculation) secretName(ref *calico.SecretKeyRef) string {
	return fmt.Sprintf("Secret %s/%s", k.o.SecretNamespace, ref.Name)
}

func (k *calculation) lookUp(ref *calico.SecretKeyRef) (value, fault string) {
	k.wants.Secrets = append(k.wants.Secrets, ref.Name)
	s, ok := k.Secrets[k.o.SecretNamespace+"/"+ref.Name]
	if !ok {
		return "", "cannot be read: there is no such Secret"
	}
	data, ok := s.Data[ref.Key]
	if !ok {
		return "", "cannot be read: the Secret has no such key"
	}
	return string(data), ""
}

// unusablePassword says why BIRD cannot hold a password, without showing any of it.
func unusablePassword(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > MaxPassword:
		return fmt.Sprintf("is %d bytes long, and at most %d are possible", len(s), MaxPassword)
	case strings.Contains(s, `"`):
		return "contains a double quote, which BIRD cannot hold"
	case strings.ContainsAny(s, "\n\r\x00"):
		return "contains a line break or a NUL, which BIRD cannot hold"
	}
	return ""
}
