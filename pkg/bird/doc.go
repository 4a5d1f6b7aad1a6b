// Package bird speaks with BIRD routing daemons, versions 1.6 to 3.x. In go names of
// binaries, control sockets and configuration files; out come what BIRD says about them, as
// values and typed errors. It knows nothing of Calico and never writes a configuration.
package bird
