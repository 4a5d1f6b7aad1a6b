package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/birdconfd/birdconfd/pkg/render"
)

func program(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "deploy"); built.err == nil {
			built.out, built.err = exec.Command("go", "build", "-o", built.dir, "github.com/birdconfd/birdconfd/cmd/birdconfd").CombinedOutput()
		}
	})
	if built.err != nil {
		t.Fatalf("go build: %v\n%s", built.err, built.out)
	}
	return filepath.Join(built.dir, "birdconfd")
}

// accepts wants the program to know all the flags.
func accepts(t *testing.T, args []string) {
	t.Helper()
	if out, err := exec.Command(program(t), append(slices.Clone(args), "--help")...).CombinedOutput(); err != nil {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
	if out, err := exec.Command(program(t), append(slices.Clone(args), "--no-such-flag", "--help")...).CombinedOutput(); err == nil {
		t.Errorf("nothing is refused, so that this proves nothing: %s", out)
	}
}

// TestRunScript runs the script of the service with a program that only tells its arguments,
// which the real one must accept.
func TestRunScript(t *testing.T) {
	dir := t.TempDir()
	fake := "#!/bin/sh\nprintf '%s\\n' \"$@\"\necho node $NODENAME >&2\n"
	if err := os.WriteFile(filepath.Join(dir, "birdconfd"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		rule   string
		env    []string
		listen string
	}{
		{"with nothing set", nil, "127.0.0.1:9097"},
		{"another address", []string{"BIRDCONFD_LISTEN=127.0.0.1:9000"}, "127.0.0.1:9000"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			cmd := exec.Command(file(t, "runit/confd/run"))
			cmd.Env = append([]string{"PATH=" + dir + ":" + os.Getenv("PATH"), "NODENAME=worker-1"}, tt.env...)
			out, err := cmd.Output() // standard output only, which is what runit's log gets
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Split(strings.TrimSpace(string(out)), "\n")
			want := []string{"run", "--confdir", "/etc/calico/confd", "--listen", tt.listen, "node worker-1"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("arguments, and standard error (-want +got):\n%s", diff)
			}
			accepts(t, got[:len(got)-1])
		})
	}
}

// TestIdleScript runs the script that takes the place of the service beside a sidecar: it
// stays, and ends when runit says so.
func TestIdleScript(t *testing.T) {
	script := filepath.Join(t.TempDir(), "run")
	if err := os.WriteFile(script, []byte(runOf(t, "kubernetes/sidecar.yaml", "birdconfd-idle")), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it has ended by itself: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		<-ended
		t.Fatal("it does not end")
	}
}

// runOf is the key "run" of a ConfigMap.
func runOf(t *testing.T, name, object string) string {
	t.Helper()
	for _, o := range objects(t, name) {
		if o.Name == object {
			return o.Data["run"]
		}
	}
	t.Fatalf("%s has no ConfigMap %s", name, object)
	return ""
}

// TestScripts has a shell read all scripts. That of the ConfigMap must be that of etc/runit.
func TestScripts(t *testing.T) {
	scripts := map[string]string{"the sidecar's": runOf(t, "kubernetes/sidecar.yaml", "birdconfd-idle")}
	for _, service := range []string{"confd", "bird", "bird6"} {
		name := "runit/" + service + "/run"
		scripts[name] = read(t, name)
		if info, err := os.Stat(file(t, name)); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	for name, text := range scripts {
		if !strings.HasPrefix(text, "#!/bin/sh\n") {
			t.Errorf("%s: which shell?", name)
		}
		if !strings.Contains(text, "\nexec 2>&1\n") {
			t.Errorf("%s: standard error does not go into the log", name)
		}
		cmd := exec.Command("sh", "-n")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if diff := cmp.Diff(read(t, "runit/confd/run"), runOf(t, "kubernetes/replace-confd.yaml", "birdconfd-service")); diff != "" {
		t.Errorf("the ConfigMap has another script (-file +ConfigMap):\n%s", diff)
	}
}

// TestSidecarConf lets the program read the sidecar's conf.d as kubelet mounts a ConfigMap:
// it must mean what etc/conf.d/calico-node.yaml writes down in full.
func TestSidecarConf(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "..2026_12_01")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..2026_12_01", filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects(t, "kubernetes/sidecar.yaml") {
		if o.Name != "birdconfd-conf" {
			continue
		}
		for name, text := range o.Data {
			if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	want, problems := render.LoadConfig(file(t, "conf.d"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got, problems := render.LoadConfig(dir)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(want.Targets, got.Targets, cmpopts.IgnoreFields(render.TargetConfig{}, "Set")); diff != "" {
		t.Errorf("its targets (-written down +sidecar):\n%s", diff)
	}
}
