package bird

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/birdconfd/birdconfd/pkg/internal/process"
)

// Version is the version of a BIRD daemon. Releases without a third number, such as
// 2.15, have Patch 0.
type Version struct {
	Major, Minor, Patch int
}

// String gives all three numbers.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Compare returns -1, 0 or +1 as v is older than, the same as or newer than o.
func (v Version) Compare(o Version) int {
	return cmp.Or(cmp.Compare(v.Major, o.Major), cmp.Compare(v.Minor, o.Minor), cmp.Compare(v.Patch, o.Patch))
}

// Is tells whether it is a version such as "1.6" or "2 or 3": as many numbers as one of
// these gives are the same. Any is "".
func (v Version) Is(want string) bool {
	return want == "" || slices.ContainsFunc(strings.Split(want, " or "), func(one string) bool {
		return strings.HasPrefix(v.String()+".", one+".")
	})
}

// The fork in calico/node puts a version of its own in front: v0.3.3+birdv1.6.8.
var versionLine = regexp.MustCompile(`(?m)^BIRD version (?:\S*birdv)?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?\b`)

// versionTimeout bounds the question for the version, which needs no work at all.
const versionTimeout = 10 * time.Second

// ReadVersion asks a BIRD binary, given by its path or a name for Find, what version it is.
func ReadVersion(ctx context.Context, binary string) (Version, error) {
	output, err := run(ctx, versionTimeout, binary, "--version")
	if err != nil {
		return Version{}, fmt.Errorf("ask for BIRD's version: %w", err)
	}
	return parseVersion(output)
}

func parseVersion(output string) (Version, error) {
	m := versionLine.FindStringSubmatch(output)
	if m == nil {
		return Version{}, fmt.Errorf("no BIRD version in %q", process.LastLines(output, process.MaxExcerpt))
	}
	var v Version
	for i, n := range []*int{&v.Major, &v.Minor, &v.Patch} {
		*n, _ = strconv.Atoi(m[i+1]) // digits, or "" for an absent third number
	}
	return v, nil
}

// daemonDirs are where distributions put daemons. An operator's or a container's PATH
// often lacks them.
var daemonDirs = []string{"/usr/sbin", "/usr/local/sbin", "/sbin"}

// Find returns the path of an executable, looked for in PATH and then where daemons
// are. A name with a slash is a path already, and is only checked.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	if strings.ContainsRune(name, '/') || name == "" {
		return "", fmt.Errorf("find program: %w", err)
	}
	for _, dir := range daemonDirs {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	if !errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("find program: %w", err)
	}
	return "", fmt.Errorf("find program %q in PATH, %s: %w", name, strings.Join(daemonDirs, ", "), exec.ErrNotFound)
}
