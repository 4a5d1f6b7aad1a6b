#!/bin/bash
# Builds etcd and kube-apiserver for the tests, out of the Go module test/servers, and
# links the folder that has them as SERVERS. They are built once per machine: the folder
# is named after what went in, so another version or another Go builds anew.
# Cold: ten minutes on two idle cores, 100 MB to download, 3.5 GB of Go's caches.
#
#   build-servers.sh SERVERS
#
# BIRDCONFD_TOOLS: where to keep what was built, ~/.cache/birdconfd unless set.
set -euo pipefail
link=$1
go=${GO:-go}
cd "$(dirname "$0")/servers"

key=$(cat go.mod go.sum <("$go" env GOVERSION GOARCH) | sha256sum | cut -c1-16)
keep=${BIRDCONFD_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/birdconfd}
built=$keep/servers-$key
mkdir -p "$keep" "$(dirname "$link")"

exec 9>"$keep/servers.lock"
flock 9 # two test runs at once would both build

if [ ! -x "$built/etcd" ] || [ ! -x "$built/kube-apiserver" ]; then
	echo "building etcd and kube-apiserver into $built, which takes ten minutes or more" >&2
	new=$(mktemp -d "$keep/building.XXXXXX")
	trap 'rm -rf "$new"' EXIT
	export CGO_ENABLED=0
	"$go" build -trimpath -ldflags='-s -w' -o "$new/etcd" go.etcd.io/etcd/server/v3
	"$go" build -trimpath -ldflags='-s -w' -o "$new/" k8s.io/kubernetes/cmd/kube-apiserver
	chmod 755 "$new"
	rm -rf "$built"
	mv "$new" "$built" # a folder that is there is complete
	trap - EXIT
fi
ln -sfn "$built" "$link"
