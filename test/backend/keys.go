package backend

// Where Calico keeps its things in etcd. The keys end with the name of the thing.
const (
	rootKey       = "/calico/"
	resourcesKey  = "/calico/resources/v3/projectcalico.org/"
	affinitiesKey = "/calico/ipam/v2/host/"
)
