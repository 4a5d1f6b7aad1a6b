// Package settings reads how the datastore is reached: from Calico's own environment
// variables, or from its configuration file.
//
// In go an environment and perhaps a file; out come settings that make sense, or an error that
// names everything which does not. Where Calico silently takes something else than was
// probably meant, there is an error or a note. It connects to nothing, and what is secret is in
// no error and no note.
package settings
