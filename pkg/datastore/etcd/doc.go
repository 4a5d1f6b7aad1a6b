// Package etcd reads and watches the resources that Calico keeps in etcd v3.
//
// In go endpoints, credentials and a node's name; out come the values below Calico's keys,
// into a store of package live: first all of them as of one revision, then each change. What
// it cannot see it reports as lost, and it goes on where it was interrupted: it reads
// everything anew only if etcd has compacted what lies between, or is not the etcd it was.
// It never writes.
package etcd
