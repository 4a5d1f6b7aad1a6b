package kube

// HostnameHash is for tests.
var HostnameHash = hostnameHash
