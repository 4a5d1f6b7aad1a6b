// Table measures how long a node that comes back is without routes while another stays dead,
// and prints a table of it. It needs root, and ends with everything removed when it is
// interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/birdconfd/birdconfd/test/lab/grlab"
)

// limit is when measuring ends; BIRD's own is 240 s.
const limit = 60 * time.Second

// rows are the settings that are compared.
var rows = []struct {
	name, wait, waitFor string
}{
	{"neither is set: BIRD's 240 s", "", "AllPeers"},
	{"gracefulRestartWait: 30s", "30s", "AllPeers"},
	{"gracefulRestartWait: 10s", "10s", "AllPeers"},
	{"gracefulRestartWait: 5s", "5s", "AllPeers"},
	{"gracefulRestartWaitFor: ReadyNodes", "", "ReadyNodes"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// run takes the path of birdconfd.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) != 1 {
		return errors.New("name the program birdconfd, as in: table bin/birdconfd")
	}
	if os.Getuid() != 0 {
		return errors.New("this needs root, as it makes network namespaces; it leaves the network of this machine alone")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("this needs iproute2")
	}
	flavors, err := flavors(stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "Measuring with %d laboratories at once, for about %.0f s ...\n", len(rows)*len(flavors), (limit + 15*time.Second).Seconds())
	interrupted := context.AfterFunc(ctx, func() { fmt.Fprintln(stderr, "Interrupted; removing everything ...") })
	defer interrupted()
	table, err := measure(ctx, flavors, args[0])
	if ctx.Err() != nil {
		return errors.New("interrupted; should anything be left, \"ip netns list\" shows it as grlab")
	}
	return errors.Join(printTable(stdout, table), err)
}

// flavors are the BIRDs that there are.
func flavors(stderr io.Writer) ([]grlab.Flavor, error) {
	var found []grlab.Flavor
	for _, f := range []grlab.Flavor{
		{Name: "BIRD 1.6", Set: "bird1", Binary: os.Getenv("BIRDCONFD_TEST_BIRD")},
		{Name: "BIRD 2", Set: "bird2", Binary: os.Getenv("BIRDCONFD_TEST_BIRD2")},
	} {
		if _, err := os.Stat(f.Binary); err != nil {
			fmt.Fprintf(stderr, "There is no %s: %v\n", f.Name, err)
			continue
		}
		found = append(found, f)
	}
	if len(found) == 0 {
		return nil, errors.New("there is no BIRD: make lab fetches them, and BIRDCONFD_TEST_BIRD and BIRDCONFD_TEST_BIRD2 name other ones")
	}
	return found, nil
}

// measure returns a row of outcomes for each of the settings.
func measure(ctx context.Context, flavors []grlab.Flavor, program string) ([][]grlab.Outcome, error) {
	table := make([][]grlab.Outcome, len(rows))
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for i, r := range rows {
		table[i] = make([]grlab.Outcome, len(flavors))
		for j, f := range flavors {
			all.Go(func() {
				out, err := grlab.Story(ctx, grlab.Options{Flavor: f, Program: program, Wait: r.wait, WaitFor: r.waitFor}, limit)
				out.Failed = err != nil
				table[i][j] = out
				if err != nil {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, fmt.Errorf("%s, %s: %w", r.name, f.Name, err))
				}
			})
		}
	}
	all.Wait()
	return table, errors.Join(errs...)
}

func printTable(w io.Writer, table [][]grlab.Outcome) error {
	fmt.Fprint(w, "Two of four nodes lose power and one comes back.\n",
		"The time from the start of its BIRD to its first route to another node:\n\n")
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, o := range table[0] {
		fmt.Fprintf(out, "\tBIRD %s", o.Version)
	}
	fmt.Fprintln(out)
	for i, row := range table {
		fmt.Fprint(out, rows[i].name)
		for _, o := range row {
			switch {
			case o.Failed:
				fmt.Fprint(out, "\tnot measured")
			case o.Ended:
				fmt.Fprintf(out, "\t%.1f s", o.Took.Seconds())
			default:
				fmt.Fprintf(out, "\tnone after %.0f s", limit.Seconds())
			}
		}
		fmt.Fprintln(out)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nMeasuring was stopped after %.0f s. All rows but the last are with gracefulRestartWaitFor: AllPeers.\n", limit.Seconds())
	return err
}
