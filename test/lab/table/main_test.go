package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/test/lab/grlab"
	"github.com/birdconfd/birdconfd/test/shared"
)

// TestPrintTable wants a time where there is one, and to be told where measuring was stopped.
func TestPrintTable(t *testing.T) {
	table := make([][]grlab.Outcome, len(rows))
	for i := range rows {
		table[i] = []grlab.Outcome{{Version: "1.6.8", Took: 1640 * time.Millisecond, Ended: true}, {Version: "2.0.12"}}
	}
	var out strings.Builder
	if err := printTable(&out, table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"BIRD 1.6.8   BIRD 2.0.12\n",
		"gracefulRestartWait: 30s             1.6 s        none after 60 s\n",
		"Measuring was stopped after 60 s.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
}

// TestManual wants docs/lab.md to have the rows that are measured, in order.
func TestManual(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(shared.Root(t), "docs", "lab.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(data)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && !strings.Contains(line, "BIRD 1.6") && cells[1] != "---" {
			got = append(got, strings.Trim(cells[1], " `"))
		}
	}
	var want []string
	for _, r := range rows {
		want = append(want, r.name)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the rows are %q, want %q", got, want)
	}
}

func TestNoBIRD(t *testing.T) {
	shared.NeedRoot(t, "it is refused to others before")
	t.Setenv("BIRDCONFD_TEST_BIRD", "/nonexistent")
	t.Setenv("BIRDCONFD_TEST_BIRD2", "/nonexistent")
	err := run(context.Background(), []string{"birdconfd"}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "there is no BIRD") {
		t.Errorf("error: %v", err)
	}
}
