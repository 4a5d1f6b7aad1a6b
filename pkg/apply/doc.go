// Package apply puts the files of one target, a BIRD daemon, in place as one transaction
// and makes the daemon use them: stage the whole set, check it, swap it in, reload, read
// what BIRD answers, and put everything back when BIRD refuses.
//
// In go files as bytes; out comes what became of them. What is desired and what is applied
// are two values, and a record beside the files tells them apart across any crash. Nothing
// here knows what the files say: only BIRD judges that.
package apply
