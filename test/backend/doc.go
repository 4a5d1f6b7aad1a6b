// Package backend gives tests the real servers that birdconfd reads from: etcd, in two
// versions, and the API server of Kubernetes, with proxies that get in their way. They
// listen at 127.0.0.1 only and end with the test. It looks for them where the environment
// says and then where "make tools" puts them; without one the test is skipped, or fails in
// CI. It installs nothing.
package backend
