#!/bin/bash
# Puts BIRD 1.6 and BIRD 2 side by side into a directory, out of the packages of the
# Debian or Ubuntu release it runs on. The two packages exclude each other, so they
# are unpacked, not installed: nothing outside the directory changes, and no root
# rights are needed. Running it again does nothing once the daemons work.
#
#   fetch-bird.sh DIR    fills DIR/bird1 and DIR/bird2; downloads stay in DIR/cache

set -euo pipefail

dir=${1:?usage: fetch-bird.sh DIR}
apt=(apt-get -qq)
# apt would rather download as its own user, who cannot write here, and then warns.
[ "$(id -u)" -ne 0 ] || apt+=(-o APT::Sandbox::User=root)

own='set BIRDCONFD_TEST_BIRD, BIRDCONFD_TEST_BIRD6 and BIRDCONFD_TEST_BIRD2 to daemons of your own instead'

say() { echo "fetch-bird: $*" >&2; }
die() { say "$@"; exit 1; }

# works TREE VERSION DAEMON...: do all daemons of TREE run, and are they VERSION?
works() {
	local tree=$1 version=$2 daemon
	shift 2
	for daemon in "$@"; do
		[[ "$("$tree/usr/sbin/$daemon" --version 2>&1)" == "BIRD version $version."* ]] || return 1
	done
}

candidate() { LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p' | grep -v '(none)'; }

# update: bring apt's package lists up to date, once, if we may.
updated=
update() {
	[ -z "$updated" ] && [ "$(id -u)" -eq 0 ] || return 1
	updated=1
	say "running apt-get update"
	"${apt[@]}" update
}

# require PACKAGE: make sure that apt knows where to get it. It returns 1 when this
# release has no such package, as some have no BIRD 1.6 any more: then only what needs it
# must be done without, except in CI, where everything must run.
require() {
	candidate "$1" >/dev/null && return
	if [ "$(id -u)" -ne 0 ]; then
		die "apt knows no package '$1'; run 'apt-get update' as root and try again"
	fi
	say "apt knows no package '$1' yet"
	[ -n "$updated" ] || update || die "apt-get update failed"
	candidate "$1" >/dev/null && return
	say "this release has no package '$1' (on Ubuntu it is in universe); $own"
	[ "${CI:-}" != true ] || exit 1
	say "going on without it: what needs it is left out, and says so"
	return 1
}

fetch() { (cd "$dir/cache" && "${apt[@]}" download "$1"); }

# unpack PACKAGE TREE: download a package and unpack it.
unpack() {
	local package=$1 tree=$2 deb
	mkdir -p "$dir/cache" "$tree"
	rm -f "$dir/cache/${package}"_*.deb
	say "downloading $package $(candidate "$package") into $dir/cache, unpacking into $tree"
	# Old lists name files that the archive has already replaced.
	fetch "$package" || { update && fetch "$package"; } ||
		die "cannot download $package; if the package lists are old, run 'apt-get update' as root"
	deb=$(echo "$dir/cache/${package}"_*.deb)
	dpkg-deb -x "$deb" "$tree" || die "cannot unpack $deb"
}

# Directories of a tree that hold shared libraries, relative to it.
libdirs() { (cd "$1" && find . -name '*.so.*' -printf '%h\n' | sort -u); }

# lacks TREE DAEMON: does the daemon want a library that is neither in the tree nor installed?
lacks() {
	local path
	path=$(libdirs "$1" | sed "s|^|$1/|" | paste -sd:)
	LD_LIBRARY_PATH=$path ldd "$1/usr/sbin/$2" 2>/dev/null | grep -q 'not found'
}

# needs PACKAGE: the library packages that it depends on and that are not installed.
needs() {
	local p
	LC_ALL=C apt-cache depends --important "$1" | sed -n 's/^[ |]*\(Pre\)\?Depends: \(lib[^ ]*\)$/\2/p' | sort -u |
		while read -r p; do
			[[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" == installed ]] || echo "$p"
		done
}

# libraries PACKAGE TREE DAEMON: unpacking alone does not bring the libraries a daemon
# is linked with. Those that are not installed go into the tree too, nearest first until
# nothing is lacking, and the daemon behind a script that says where they are.
libraries() {
	local tree=$2 daemon=$3 queue=("$1") seen=" " package p
	lacks "$tree" "$daemon" || return 0
	while [ "${#queue[@]}" -gt 0 ] && lacks "$tree" "$daemon"; do
		package=${queue[0]}
		queue=("${queue[@]:1}")
		for p in $(needs "$package"); do
			[[ "$seen" != *" $p "* ]] || continue
			seen+="$p "
			candidate "$p" >/dev/null || continue # a virtual package
			unpack "$p" "$tree"
			queue+=("$p")
		done
	done
	mkdir -p "$tree/usr/libexec"
	mv "$tree/usr/sbin/$daemon" "$tree/usr/libexec/$daemon"
	cat >"$tree/usr/sbin/$daemon" <<-SCRIPT
		#!/bin/sh
		tree=\$(dirname "\$0")/../..
		LD_LIBRARY_PATH=$(libdirs "$tree" | sed 's|^\.|$tree|' | paste -sd:) exec "\$tree/usr/libexec/$daemon" "\$@"
	SCRIPT
	chmod +x "$tree/usr/sbin/$daemon"
}

# provide PACKAGE NAME VERSION DAEMON...: have a working tree DIR/NAME. It is made
# beside its place and then moved there, so that tests that run meanwhile see no half.
provide() {
	local package=$1 tree=$dir/$2 version=$3 new=$dir/$2.new tool daemon
	shift 3
	if works "$tree" "$version" "$@"; then return; fi
	for tool in apt-get apt-cache dpkg-deb; do
		command -v "$tool" >/dev/null ||
			die "$tool not found: this needs Debian or Ubuntu; $own"
	done
	require "$package" || return 0
	rm -rf "$new"
	unpack "$package" "$new"
	for daemon in "$@"; do libraries "$package" "$new" "$daemon"; done
	works "$new" "$version" "$@" ||
		die "$package does not run, or is not BIRD $version: $("$new/usr/sbin/$1" --version 2>&1)"
	rm -rf "$tree"
	mv "$new" "$tree"
	say "ready: $tree/usr/sbin/$1, $("$tree/usr/sbin/$1" --version 2>&1)"
}

provide bird bird1 1.6 bird bird6
provide bird2 bird2 2 bird
