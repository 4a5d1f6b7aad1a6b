package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/birdconfd/birdconfd/pkg/daemon"
)

// statusSize bounds a report; that of a node with 10,000 sessions has 4 MB.
const statusSize = 32 << 20

// fetchReport asks the birdconfd at an address how it is.
func fetchReport(ctx context.Context, base *url.URL) (*daemon.Report, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("status").String(), nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{
		// birdconfd is on this node, so that a proxy is never meant.
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, unreachable(ctx, base, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("what answers at %s is no birdconfd: it says %q to /status", base.Redacted(), response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, statusSize+1))
	switch {
	case err != nil:
		return nil, unreachable(ctx, base, err)
	case len(body) > statusSize:
		return nil, fmt.Errorf("what answers at %s is no birdconfd: its status is larger than %d MiB", base.Redacted(), statusSize>>20)
	}
	var r daemon.Report
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("what answers at %s is no birdconfd: read its status: %w", base.Redacted(), err)
	}
	return &r, nil
}

// unreachable says what to do when nobody answers.
func unreachable(ctx context.Context, base *url.URL, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", statusTimeout)
	} else if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return fmt.Errorf("no birdconfd answers at %s: %w; with --socket BIRD itself can be asked", base.Redacted(), err)
}
