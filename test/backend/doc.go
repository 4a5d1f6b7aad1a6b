// Package backend runs real servers for tests: etcd, kube-apiserver, and proxies in front of
// them that can stop and cut connections. All of them listen on 127.0.0.1 only and end with
// the test. Without the programs tests are skipped, but fail in CI.
package backend
