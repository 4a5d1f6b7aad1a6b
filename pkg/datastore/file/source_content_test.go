package file

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/datastore"
)

// count counts goroutines and descriptors.
func count(t *testing.T) (goroutines, descriptors int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return runtime.NumGoroutine(), len(fds)
}

func wantMatch(t *testing.T, got, want string) {
	t.Helper()
	if !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("%q does not match %s", got, want)
	}
}

// waitError waits until the source is not synced for a reason.
func (r *running) waitError(t *testing.T, want string) {
	t.Helper()
	s := r.waitStatus(t, func(s datastore.Status) bool { return s.LastError == want })
	if s.Synced || !s.SyncedAt.IsZero() || len(r.snapshots) > 0 {
		t.Fatalf("status %+v, %d snapshots", s, len(r.snapshots))
	}
}

func TestFileStopsParsing(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		dir := tree(t, map[string]string{"a.yaml": version("a", 0), "b.yaml": version("b", 0)})
		path := filepath.Join(dir, "b.yaml")
		r := m.start(t, dir)
		r.want(t, poolAt("a", 0)+" "+poolAt("b", 0))
		// A document that is all right beside one that is not is not used either.
		write(t, path, version("b", 1)+"---\nkind: {\n")
		s := r.want(t, poolAt("a", 0)+" "+poolAt("b", 0)+" | syntax")
		wantMatch(t, messageOf(t, s, "syntax"), `^not valid YAML: did not find expected node content; the content read at 2\d{3}-\S+ stays in use$`)
		status := r.waitStatus(t, func(s datastore.Status) bool { return s.LastError != "" })
		wantMatch(t, status.LastError, `b\.yaml:7: not valid YAML`)
		if !status.Connected || !status.Synced {
			t.Errorf("status %+v", status)
		}
		write(t, filepath.Join(dir, "a.yaml"), version("a", 2))
		r.want(t, poolAt("a", 2)+" "+poolAt("b", 0)+" | syntax")
		write(t, path, version("b", 3))
		r.want(t, poolAt("a", 2)+" "+poolAt("b", 3))
		if s := r.Status(); s.LastError != "" {
			t.Errorf("status %+v", s)
		}
	})
}

func TestNewFileThatDoesNotParse(t *testing.T) {
	dir := tree(t, map[string]string{"a.yaml": version("a", 0)})
	r := onlyEvents.start(t, dir)
	r.want(t, poolAt("a", 0))
	write(t, filepath.Join(dir, "b.yaml"), version("b", 1)+"---\nkind: {\n")
	s := r.want(t, poolAt("a", 0)+" | syntax")
	wantMatch(t, messageOf(t, s, "syntax"), `^not valid YAML: did not find expected node content; no document of the file is used$`)
	write(t, filepath.Join(dir, "b.yaml"), version("b", 1))
	r.want(t, poolAt("a", 0)+" "+poolAt("b", 1))
}

func TestNotSyncedWhileAFileDoesNotParse(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		dir := tree(t, map[string]string{"a.yaml": version("a", 0), "b.yaml": "kind: {\n"})
		r := m.start(t, dir)
		r.waitError(t, filepath.Join(dir, "b.yaml")+":2: not valid YAML: did not find expected node content; no document of the file is used")
		// What has been read meanwhile, but was never part of a whole, does not stay.
		remove(t, filepath.Join(dir, "a.yaml"))
		write(t, filepath.Join(dir, "b.yaml"), version("b", 1))
		r.until(t, poolAt("b", 1))
	})
}

// Nothing that means nothing is delivered: the next snapshot is that of the change after it.
func TestChangesThatMeanNothing(t *testing.T) {
	for _, change := range []struct {
		name string
		do   func(t *testing.T, path string)
	}{
		{"touched", func(t *testing.T, path string) {
			if err := os.Chtimes(path, time.Now(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}},
		{"another mode", func(t *testing.T, path string) {
			if err := os.Chmod(path, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"replaced by the same", func(t *testing.T, path string) { replace(t, path, version("a", 0)) }},
		{"a comment", func(t *testing.T, path string) { write(t, path, "# about pools\n"+version("a", 0)+"# end\n") }},
		{"an annotation", func(t *testing.T, path string) {
			write(t, path, strings.Replace(version("a", 0), "name: a", "name: a, annotations: {note: x}", 1))
		}},
		{"another order", func(t *testing.T, path string) {
			write(t, path, "spec: {cidr: 10.0.0.0/24}\nmetadata: {name: a}\nkind: IPPool\napiVersion: projectcalico.org/v3\n")
		}},
		{"a hidden file", func(t *testing.T, path string) {
			write(t, filepath.Join(filepath.Dir(path), ".x.yaml"), version("x", 1))
		}},
		{"another kind of file", func(t *testing.T, path string) { write(t, filepath.Join(filepath.Dir(path), "README"), "x") }},
		{"an empty file", func(t *testing.T, path string) { write(t, filepath.Join(filepath.Dir(path), "x.yaml"), "") }},
	} {
		t.Run(change.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"a.yaml": version("a", 0), "b.yaml": version("b", 0)})
			r := onlyEvents.start(t, dir)
			r.want(t, poolAt("a", 0)+" "+poolAt("b", 0))
			looked := r.Status().SyncedAt
			change.do(t, filepath.Join(dir, "a.yaml"))
			r.waitStatus(t, func(s datastore.Status) bool { return s.SyncedAt.After(looked) })
			write(t, filepath.Join(dir, "b.yaml"), version("b", 1))
			r.want(t, poolAt("a", 0)+" "+poolAt("b", 1))
		})
	}
}

// A problem that stands at another line by now is news.
func TestProblemMoves(t *testing.T) {
	path := filepath.Join(tree(t, map[string]string{"a.yaml": pool("a") + "unknown: 1\n"}), "a.yaml")
	r := onlyEvents.start(t, path)
	first := r.want(t, "a=198.51.100.0/24 | unknown-field")
	write(t, path, "# one line more\n"+pool("a")+"unknown: 1\n")
	second := r.want(t, "a=198.51.100.0/24 | unknown-field")
	if a, b := first.Problems[0].Position.Line, second.Problems[0].Position.Line; b != a+1 {
		t.Errorf("line %d, then %d", a, b)
	}
}

func TestOnlyChangedFilesAreReadAgain(t *testing.T) {
	dir := tree(t, map[string]string{"a.yaml": version("a", 0), "b.yaml": version("b", 0)})
	r := onlyPoll.start(t, dir)
	first := r.want(t, poolAt("a", 0)+" "+poolAt("b", 0))
	write(t, filepath.Join(dir, "b.yaml"), version("b", 1))
	second := r.want(t, poolAt("a", 0)+" "+poolAt("b", 1))
	if first.Cluster.Pools[0] != second.Cluster.Pools[0] || first.Cluster.Pools[1] == second.Cluster.Pools[1] {
		t.Error("the file that is the same was decoded again, or the other was not")
	}
	reads, at := r.Status().Reads, r.Status().SyncedAt
	s := r.waitStatus(t, func(s datastore.Status) bool { return s.SyncedAt.Sub(at) > 5*onlyPoll.o.Poll })
	if reads != 2 || s.Reads != reads {
		t.Errorf("%d reads after one change, and then %d with none", reads, s.Reads)
	}
}

func TestDirectoryBelowAppears(t *testing.T) {
	dir := tree(t, map[string]string{"a.yaml": version("a", 0)})
	r := onlyEvents.start(t, dir)
	r.want(t, poolAt("a", 0))
	mkdir(t, filepath.Join(dir, "below"))
	r.want(t, poolAt("a", 0)+" | not-read")
	remove(t, filepath.Join(dir, "below"))
	r.want(t, poolAt("a", 0))
}

// A change that was read but held back for another one is not forgotten when that one was
// none after all.
func TestChangeThatIsTakenBack(t *testing.T) {
	dir := tree(t, map[string]string{"a.yaml": version("a", 0)})
	o := Options{Paths: []string{dir}, Quiet: 1}
	r := newReader(&o)
	look := func(take func() *survey) *findings {
		t.Helper()
		for range 1000 {
			if f, _ := r.look(t.Context(), take); f != nil {
				return f
			}
		}
		t.Fatal("nothing settles")
		return nil
	}
	look(r.survey)
	write(t, filepath.Join(dir, "a.yaml"), version("a", 1))
	extra, surveys := filepath.Join(dir, "b.yaml"), 0
	f := look(func() *survey {
		switch surveys++; surveys {
		case 3: // that after reading
			write(t, extra, version("b", 1))
		case 4:
			remove(t, extra)
		}
		return r.survey()
	})
	if surveys != 4 || f.cluster == nil || f.cluster.Pools[0].CIDR.String() != "10.0.1.0/24" {
		t.Errorf("after %d surveys: %+v", surveys, f)
	}
}

func TestEmptyDirectory(t *testing.T) {
	dir := tree(t, map[string]string{"a.yaml": version("a", 0)})
	r := onlyEvents.start(t, dir)
	r.want(t, poolAt("a", 0))
	remove(t, filepath.Join(dir, "a.yaml"))
	r.want(t, " | unreadable") // it is somebody else's task to doubt it
	write(t, filepath.Join(dir, "a.yaml"), version("a", 1))
	r.want(t, poolAt("a", 1))
}

func TestEndpointStatus(t *testing.T) {
	peer := func(name string) string {
		return `{"ifaceName":"` + name + `","ipv4Nets":["192.0.2.7/32"],"bgpPeerName":"tor"}`
	}
	eachMode(t, func(t *testing.T, m mode) {
		root := tree(t, map[string]string{"in/a.yaml": version("a", 0)})
		dir := filepath.Join(root, "status")
		m.o.EndpointStatus = dir
		r := m.start(t, filepath.Join(root, "in"))
		r.want(t, poolAt("a", 0)+" | endpoint-status")
		mkdir(t, dir)
		r.want(t, poolAt("a", 0))
		write(t, filepath.Join(dir, "k8s x%2Fy eth0"), peer("cali1"))
		r.want(t, poolAt("a", 0)+" | cali1")
		// Not what it was, nor JSON: the workload stays a peer.
		write(t, filepath.Join(dir, "k8s x%2Fy eth0"), peer("cali2")[:20])
		s := r.want(t, poolAt("a", 0)+" | cali1 | endpoint-status")
		wantMatch(t, messageOf(t, s, "endpoint-status"), `^the file does not hold an endpoint's status in JSON; the content read at \S+ stays in use$`)
		write(t, filepath.Join(dir, "k8s x%2Fy eth0"), peer("cali2"))
		r.want(t, poolAt("a", 0)+" | cali2")
		remove(t, filepath.Join(dir, "k8s x%2Fy eth0"))
		r.want(t, poolAt("a", 0))
		// A file that is bad from the start is left out, and no reason to do nothing.
		write(t, filepath.Join(dir, "k8s x%2Fz eth0"), "{")
		s = r.want(t, poolAt("a", 0)+" | endpoint-status")
		wantMatch(t, messageOf(t, s, "endpoint-status"), `the workload is not a peer$`)
		move(t, dir, dir+"-old")
		s = r.want(t, poolAt("a", 0)+" | unreadable | endpoint-status")
		wantMatch(t, messageOf(t, s, "unreadable"), `no such file or directory; the content read at \S+ stays in use$`)
	})
}

func TestEndpointStatusMust(t *testing.T) {
	root := tree(t, map[string]string{"in/a.yaml": version("a", 0)})
	m := onlyEvents
	m.o.EndpointStatus, m.o.EndpointStatusMust = filepath.Join(root, "status"), true
	r := m.start(t, filepath.Join(root, "in"))
	r.waitError(t, m.o.EndpointStatus+": there is no such directory")
	write(t, m.o.EndpointStatus, "x")
	r.waitError(t, m.o.EndpointStatus+": cannot be read: not a directory")
	remove(t, m.o.EndpointStatus)
	mkdir(t, m.o.EndpointStatus)
	r.want(t, poolAt("a", 0))
}

func TestSourceOfNothingButEndpointStatus(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		dir := filepath.Join(t.TempDir(), "endpoint-status")
		m.o.EndpointStatus = dir
		r := m.start(t)
		r.want(t, " | endpoint-status") // there is no such directory
		mkdir(t, dir)
		write(t, filepath.Join(dir, "k8s default%2Fpod eth0"), `{"ifaceName":"cali1","ipv4Nets":["192.0.2.9/32"],"bgpPeerName":"vm"}`)
		r.until(t, " | cali1") // the directory may be seen before the file
	})
}
