// Package keys shows a cluster as the tree of keys and values that templates for Calico's
// confd read.
//
// In go a calico.Cluster, the node whose confd it stands for and the bgp.Views of that node;
// out come the keys below /calico (New), and what one template sees of them (Tree.Store),
// with the functions of memkv, which give the same answers but look only where they have to.
// Parts that are costly and seldom asked for, such as the peerings of other nodes, are made
// when somebody asks for them. It knows nothing of templates.
package keys
