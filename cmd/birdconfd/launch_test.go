package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLaunchWrongUsage(t *testing.T) {
	for _, tt := range []struct {
		rule string
		args []string
		want string
	}{
		{"no command", nil, "name the command that starts BIRD, after --"},
		{"nothing after --", []string{"--"}, "name the command that starts BIRD, after --"},
		{"no -c", []string{"--", "/bin/sh", "-d"}, "the command has no -c: name BIRD's configuration file, so that it is known what to wait for"},
		{"-c without a file", []string{"--", "/bin/sh", "-c"}, "the command has no -c: name BIRD's configuration file, so that it is known what to wait for"},
		{"a negative wait", []string{"--wait=-1s", "--", "/bin/sh", "-c", "x"}, "--wait must not be negative"},
		{"a bad family", []string{"--family=all", "--", "/bin/sh", "-c", "x"}, `invalid argument "all" for "--family" flag: it is one of auto, ipv4, ipv6, both`},
		{"a bad restart", []string{"--restart=no", "--", "/bin/sh", "-c", "x"}, `invalid argument "no" for "--restart" flag: it is one of auto, always, never`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			r := birdconfd(t, append([]string{"launch"}, tt.args...)...)
			r.want(t, exitUsage)
			if want := "birdconfd: " + tt.want + " (see birdconfd launch --help)\n"; r.stderr != want || r.stdout != "" {
				t.Errorf("standard output %q, standard error %q, want %q", r.stdout, r.stderr, want)
			}
		})
	}
}

// A command's own options are its own, also without --.
func TestLaunchLeavesTheCommandAlone(t *testing.T) {
	config := filepath.Join(t.TempDir(), "bird.cfg")
	for _, args := range [][]string{
		{"launch", "--wait=0s", "--", "/bin/sh", "-R", "-c", config},
		{"launch", "--wait=0s", "/bin/sh", "-s", "--wait", "-c", config},
	} {
		birdconfd(t, args...).want(t, exitProblems, "there is no complete set of "+config)
	}
}

func TestLaunchNoProgram(t *testing.T) {
	birdconfd(t, "launch", "--", "/absent/bird", "-c", "bird.cfg").want(t, exitUsage, `find program: exec: "/absent/bird"`)
	birdconfd(t, "launch", "--", "no-such-bird", "-c", "bird.cfg").want(t, exitUsage, `find program "no-such-bird" in PATH`)
}

// Flags have variables, but for the one that run has too with other values.
func TestLaunchVariables(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	env := map[string]string{"BIRDCONFD_WAIT": "0s", "BIRDCONFD_STATE_DIR": state, "BIRDCONFD_FAMILY": "all", "BIRDCONFD_RESTART": "never"}
	args := []string{"launch", "--", "/bin/sh", "-c", filepath.Join(dir, "bird.cfg")}
	call{args: args, env: env}.run(t).want(t, exitProblems, " after 0s: ", "by the records in "+state)
	env["BIRDCONFD_RESTART"] = "no"
	call{args: args, env: env}.run(t).want(t, exitUsage, "environment variable BIRDCONFD_RESTART: ")
}

// A relative name is one in the current directory, as for BIRD.
func TestLaunchRelativeFile(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := os.Mkdir("etc", 0o755); err != nil {
		t.Fatal(err)
	}
	birdconfd(t, "launch", "--wait=0s", "--", "/bin/sh", "-cetc/bird.cfg").want(t, exitProblems,
		"for a current set of "+filepath.Join(dir, "etc", "bird.cfg"), filepath.Join(dir, "etc", ".birdconfd"))
}
