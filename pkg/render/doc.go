// Package render turns a node's bgp.Views into the text of BIRD's configuration files.
//
// In go Views and a set of Go text/templates (built in, or overlaid with an operator's
// own); out come the files of each target as bytes, and a Problem with file, line and
// column for a template that does not load or fails. What the targets are, and where their
// files and sockets are, comes from a conf.d directory (LoadConfig) or from flags
// (Standalone). It writes no files and knows no BIRD syntax but how strings, names, comments
// and passwords are written.
package render
