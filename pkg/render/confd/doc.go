// Package confd executes templates that were written for Calico's confd, as they are.
//
// In go a template of any generation (Calico up to 3.31, 3.32, from 3.33), what it asks for of
// the tree of keys, and a cluster with a node's bgp.Views; out comes the file as confd would
// write it, or an error with the place in the template and what to do. A template that loops,
// grows or panics ends in an error. The functions that hand BIRD statements to templates
// (getBGPConfig, bgpFilterBIRDFuncs) are made of the Views, so that they follow the same rules
// as birdconfd's own templates.
package confd
