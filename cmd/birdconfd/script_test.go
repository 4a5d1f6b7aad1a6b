package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Scripts show the program as its users meet it.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script", "") }

// Those in script-bird find both daemons of BIRD 1.6 in PATH.
func TestScriptsWithBird(t *testing.T) { runScripts(t, "testdata/script-bird", birdDir(t)) }

func runScripts(t *testing.T, dir, path string) {
	testscript.Run(t, testscript.Params{Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			if path != "" {
				e.Setenv("PATH", path+":"+e.Getenv("PATH"))
			}
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else each run takes a second longer
			return nil
		}})
}
