// Package live is what the sources have in common that watch a server: a store of what is
// known, in parts that are listed and watched by themselves, and the making of snapshots
// from it.
//
// Values come in as JSON, each by itself; out come snapshots, when all parts that must be
// there have been read once, and then after each change that matters. A value that cannot be
// read any more keeps the object it was, and so does a whole part that is suddenly empty,
// for some time. It never talks to a server.
package live
