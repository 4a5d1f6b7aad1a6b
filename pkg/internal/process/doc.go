// Package process runs other programs to their end: in goes a command line, out come what
// it wrote and what became of it, in bounded time and space whatever the program does.
//
// All programs that birdconfd runs are started here, so that as PID 1 of a container it can
// tell them from orphans that it has to reap. It never uses a shell, and never waits for
// what a program left behind.
package process
