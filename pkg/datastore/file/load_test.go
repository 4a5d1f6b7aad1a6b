package file

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/test/shared"
)

// pool is a document that is all right.
func pool(name string) string {
	return "apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata: {name: " + name + "}\nspec: {cidr: 198.51.100.0/24}\n"
}

// tree makes files under a new directory, and links where the text says "-> TARGET".
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, isLink := strings.CutPrefix(text, "-> "); isLink {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// names are the objects' names in order, with the base names of their files.
func names(objects []calico.Object) string {
	var out []string
	for _, o := range objects {
		m := o.Common()
		out = append(out, filepath.Base(m.Origin.File)+":"+m.Name)
	}
	return strings.Join(out, " ")
}

// report renders problems without the path of the test's directory.
func report(dir string, problems []calico.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, strings.ReplaceAll(p.String(), dir, "DIR"))
	}
	return out
}

func TestLoad(t *testing.T) {
	for _, tt := range []struct {
		name     string
		files    map[string]string
		paths    []string
		stdin    string
		objects  string
		problems []string
	}{
		{
			name:  "a directory is read in order, its yaml, yml and json files only",
			files: map[string]string{"b.yaml": pool("b"), "a.yml": pool("a"), "c.json": `{"apiVersion":"projectcalico.org/v3","kind":"IPPool","metadata":{"name":"c"},"spec":{"cidr":"198.51.100.0/24"}}`, "README.md": "x: [", "d.yaml.bak": "x: ["},
			paths: []string{"DIR"}, objects: "a.yml:a b.yaml:b c.json:c",
		},
		{
			name:  "hidden files and directories below do not count",
			files: map[string]string{"a.yaml": pool("a"), ".hidden.yaml": pool("h"), "sub/b.yaml": pool("b"), "dir.yaml/c.yaml": pool("c")},
			paths: []string{"DIR"}, objects: "a.yaml:a",
			problems: []string{
				"DIR/dir.yaml: info: directories inside of a directory are not read [not-read]\n    hint: name it too if it holds resources",
				"DIR/sub: info: directories inside of a directory are not read [not-read]\n    hint: name it too if it holds resources",
			},
		},
		{
			name:  "a mounted ConfigMap",
			files: map[string]string{"..2026_08_22/peers.yaml": pool("peers"), "..2026_08_22/pools.yaml": pool("pools"), "..data": "-> ..2026_08_22", "peers.yaml": "-> ..data/peers.yaml", "pools.yaml": "-> ..data/pools.yaml"},
			paths: []string{"DIR"}, objects: "peers.yaml:peers pools.yaml:pools",
		},
		{
			name:  "a link that leads nowhere",
			files: map[string]string{"a.yaml": "-> gone", "b.yaml": pool("b")},
			paths: []string{"DIR"}, objects: "b.yaml:b",
			problems: []string{"DIR/a.yaml: error: cannot be read: no such file or directory [unreadable]"},
		},
		{
			name:  "a file by its name, whatever that is, and in the order given",
			files: map[string]string{"z.yaml": pool("z"), ".conf": pool("a")},
			paths: []string{"DIR/z.yaml", "DIR/.conf"}, objects: "z.yaml:z .conf:a",
		},
		{
			name:  "paths that are not there do not keep the others from being read",
			files: map[string]string{"a.yaml": pool("a")},
			paths: []string{"DIR/gone", "DIR/a.yaml", "DIR/a.yaml/b"}, objects: "a.yaml:a",
			problems: []string{"DIR/gone: error: cannot be read: no such file or directory [unreadable]", "DIR/a.yaml/b: error: cannot be read: not a directory [unreadable]"},
		},
		{
			name:     "a directory without any file",
			files:    map[string]string{"README": "x"},
			paths:    []string{"DIR"},
			problems: []string{"DIR: error: there is no *.yaml, *.yml or *.json file in the directory [unreadable]"},
		},
		{name: "an empty file is all right", files: map[string]string{"a.yaml": ""}, paths: []string{"DIR"}},
		{
			name:  "standard input, once",
			paths: []string{"-", "-"}, stdin: pool("a") + "---\nkind: {\n", objects: "<stdin>:a",
			problems: []string{
				"<stdin>:7: error: not valid YAML: did not find expected node content; the document is left out [syntax]\n    hint: look at this line and those below it for indentation or brackets that do not match",
				"<stdin>: error: standard input can be read only once [unreadable]",
			},
		},
		{
			name:     "problems name the file",
			files:    map[string]string{"a.yaml": strings.Replace(pool("a"), "24", "x", 1)},
			paths:    []string{"DIR"},
			problems: []string{`DIR/a.yaml:4:14: error: IPPool/a spec.cidr: "198.51.100.0/x" is not a CIDR; the pool is left out [prefix]`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, tt.files)
			var paths []string
			for _, p := range tt.paths {
				paths = append(paths, strings.Replace(p, "DIR", dir, 1))
			}
			objects, problems := Load(t.Context(), paths, strings.NewReader(tt.stdin))
			if got := names(objects); got != tt.objects {
				t.Errorf("objects %q, want %q", got, tt.objects)
			}
			if diff := cmp.Diff(tt.problems, report(dir, problems), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoadWithoutPermission(t *testing.T) {
	dir := tree(t, map[string]string{"closed/b.yaml": pool("b")})
	closed := filepath.Join(dir, "closed")
	for path, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o755, dir: 0o755, closed: 0} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(closed, 0o755) })
	shared.AsNobody(t, func() {
		_, problems := Load(t.Context(), []string{closed, filepath.Join(closed, "b.yaml")}, nil)
		want := []string{"DIR/closed: error: cannot be read: permission denied [unreadable]", "DIR/closed/b.yaml: error: cannot be read: permission denied [unreadable]"}
		if diff := cmp.Diff(want, report(dir, problems)); diff != "" {
			t.Error(diff)
		}
	})
}

// A pipe that nobody closes must not hold up the end of the program.
func TestLoadEndsWithItsContext(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	_, problems := Load(ctx, []string{"-"}, r)
	if diff := cmp.Diff([]string{"<stdin>: error: cannot be read: interrupted [unreadable]"}, report("/none", problems)); diff != "" {
		t.Error(diff)
	}
}

func TestReadHasALimit(t *testing.T) {
	for size, want := range map[int64]string{1 << 20: "", 1<<20 + 1: "it is larger than 1 MiB"} {
		_, err := readAll(func() (io.ReadCloser, error) { return io.NopCloser(io.LimitReader(zeros{}, size)), nil }, 1<<20)
		if got := ""; err != nil && err.Error() != want || err == nil && got != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestLoadEndpointStatus(t *testing.T) {
	const peer = `{"ifaceName":"cali1","ipv4Nets":["192.0.2.7/32"],"bgpPeerName":"tor"}`
	dir := tree(t, map[string]string{
		"k8s default%2Fb eth0": strings.Replace(peer, "192.0.2.7", "192.0.2.8", 1),
		"k8s default%2Fa eth0": peer,
		"k8s default%2Fc eth0": `{"ifaceName":"cali2"}`,
		"k8s default%2Fd eth0": `{"ifaceName":`,
		".k8s default%2Fe eth": peer,
		"below/x":              peer,
	})
	endpoints, problems := LoadEndpointStatus(dir)
	var got []string
	for _, w := range endpoints {
		got = append(got, strings.Join([]string{filepath.Base(w.Position.File), w.Interface, w.IPv4.String(), w.BGPPeerName}, " | "))
	}
	if diff := cmp.Diff([]string{"k8s default%2Fa eth0 | cali1 | 192.0.2.7 | tor", "k8s default%2Fb eth0 | cali1 | 192.0.2.8 | tor"}, got); diff != "" {
		t.Error(diff)
	}
	want := []string{"DIR/k8s default%2Fd eth0: error: the file does not hold an endpoint's status in JSON; the workload is not a peer [endpoint-status]"}
	if diff := cmp.Diff(want, report(dir, problems)); diff != "" {
		t.Error(diff)
	}
	t.Run("a directory that is not there", func(t *testing.T) {
		endpoints, problems := LoadEndpointStatus(filepath.Join(dir, "gone"))
		want := []string{"DIR/gone: warning: there is no such directory, so no workload is a peer [endpoint-status]"}
		if diff := cmp.Diff(want, report(dir, problems)); diff != "" || endpoints != nil {
			t.Error(diff, endpoints)
		}
	})
	t.Run("a directory that is a file", func(t *testing.T) {
		_, problems := LoadEndpointStatus(filepath.Join(dir, "below/x"))
		if diff := cmp.Diff([]string{"DIR/below/x: error: cannot be read: not a directory [unreadable]"}, report(dir, problems)); diff != "" {
			t.Error(diff)
		}
	})
}
