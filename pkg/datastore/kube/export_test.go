package kube

// HostnameHash is for tests.
var HostnameHash = hostnameHash

// Override is for tests: what a pod is given is not there in them.
var Override = Access.override
