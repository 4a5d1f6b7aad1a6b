#!/bin/bash
# Unpacks the etcd of the Debian or Ubuntu release it runs on into a directory: a version
# that is years old, as many clusters have one. Nothing outside the directory changes, and no
# root rights are needed. Running it again does nothing once etcd works.
#
#   fetch-etcd.sh DIR    fills DIR/etcd34; downloads stay in DIR/cache

set -euo pipefail

dir=${1:?usage: fetch-etcd.sh DIR}
package=etcd-server
apt=(apt-get -qq)
# apt would rather download as its own user, who cannot write here, and then warns.
[ "$(id -u)" -ne 0 ] || apt+=(-o APT::Sandbox::User=root)

say() { echo "fetch-etcd: $*" >&2; }
own='set BIRDCONFD_TEST_ETCD34 to an etcd of your own instead'

works() { [[ "$("$dir/etcd34/usr/bin/etcd" --version 2>&1)" == "etcd Version: 3."* ]]; }

if works; then exit 0; fi
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || { say "this needs Debian or Ubuntu; $own"; exit 1; }
mkdir -p "$dir/cache"
fetch() { (cd "$dir/cache" && rm -f "${package}"_*.deb && "${apt[@]}" download "$package"); }
say "downloading $package into $dir/cache, unpacking into $dir/etcd34"
if ! fetch; then
	[ "$(id -u)" -eq 0 ] || { say "cannot download $package; run 'apt-get update' as root and try again"; exit 1; }
	"${apt[@]}" update
	if ! fetch; then
		say "this release has no package '$package' (on Ubuntu it is in universe); $own"
		[ "${CI:-}" != true ] || exit 1
		say "going on without it: the tests that need it are skipped, and say so"
		exit 0
	fi
fi
rm -rf "$dir/etcd34.new"
dpkg-deb -x "$dir/cache/${package}"_*.deb "$dir/etcd34.new"
rm -rf "$dir/etcd34"
mv "$dir/etcd34.new" "$dir/etcd34"
works || { say "what the package has does not run: $("$dir/etcd34/usr/bin/etcd" --version 2>&1 | head -1)"; exit 1; }
say "ready: $("$dir/etcd34/usr/bin/etcd" --version | head -1)"
