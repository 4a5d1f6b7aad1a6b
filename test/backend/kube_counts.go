package backend

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	metricLine  = regexp.MustCompile(`(?m)^(apiserver_request_total|apiserver_longrunning_requests)\{(.*)\} (\S+)$`)
	metricLabel = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// RequestCounts returns how many requests the API server has answered so far, from everybody
// and itself, by verb and resource, such as "LIST nodes"; watches that have ended among them.
func (k *Kube) RequestCounts(t testing.TB) map[string]int {
	t.Helper()
	return k.counts(t, "apiserver_request_total")
}

// Watches returns how many watches are open, of everybody and of the API server itself, by
// resource, such as "nodes".
func (k *Kube) Watches(t testing.TB) map[string]int {
	t.Helper()
	open := map[string]int{}
	for name, n := range k.counts(t, "apiserver_longrunning_requests") {
		if resource, ok := strings.CutPrefix(name, "WATCH "); ok {
			open[resource] = n
		}
	}
	return open
}

func (k *Kube) counts(t testing.TB, metric string) map[string]int {
	t.Helper()
	var page string
	err := k.try("read the metrics", func(ctx context.Context) (err error) {
		page, err = k.get(ctx, "/metrics")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int{}
	for _, line := range metricLine.FindAllStringSubmatch(page, -1) {
		if line[1] != metric {
			continue
		}
		labels := map[string]string{}
		for _, l := range metricLabel.FindAllStringSubmatch(line[2], -1) {
			labels[l[1]] = l[2]
		}
		n, err := strconv.ParseFloat(line[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		sums[labels["verb"]+" "+labels["resource"]] += int(n)
	}
	return sums
}
