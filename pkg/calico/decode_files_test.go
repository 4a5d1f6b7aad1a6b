package calico

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/birdconfd/birdconfd/test/shared"
)

// everyKind is a file with one of every kind that is read.
const everyKind = "testdata/every-kind.yaml"

func TestEveryKind(t *testing.T) {
	data, err := os.ReadFile(everyKind)
	if err != nil {
		t.Fatal(err)
	}
	const want = "BGPConfiguration/default BGPPeer/tor BGPFilter/lens IPPool/pods Node/alpha Node/bravo BlockAffinity/alpha-198-51-100-16-28 " +
		"Service/shop/web EndpointSlice/shop/web-4 Secret/kube-system/bgp"
	objects := decodeTest(t, string(data))
	if got := ids(objects); got != want {
		t.Errorf("objects %s", got)
	}
	if _, problems := NewCluster(objects, nil); len(problems) > 0 {
		t.Error(problems)
	}
}

// What Calico's own tests have as input is all right here, too.
func TestConformanceInputs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shared.Dir(t, "conformance"), "*", "*", "*", "input.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		objects, problems := Decode(file, data)
		for _, p := range problems {
			if p.Severity == Error {
				t.Error(p)
			}
		}
		if len(objects) == 0 {
			t.Errorf("%s: no objects", file)
		}
	}
}
