package launch

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/internal/kernel"
)

// Families are address families.
type Families struct {
	IPv4, IPv6 bool
}

// askFor bounds the question whether a program is BIRD.
const askFor = 2 * time.Second

// FamiliesOf asks a program for its version, and tells for which address families it works.
// An error tells that it does not answer like BIRD.
func FamiliesOf(ctx context.Context, program string) (Families, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	v, err := bird.ReadVersion(ctx, program)
	if err != nil {
		return Families{}, err
	}
	ipv4, ipv6 := v.Families(filepath.Base(program))
	return Families{ipv4, ipv6}, nil
}

// Preserve tells whether a BIRD that starts has routes to preserve, and why. When in doubt
// it has: then it may start late, and otherwise routes would be gone for seconds.
func Preserve(f Families) (bool, string) {
	var asked []string
	for _, family := range f.list() {
		found, err := kernel.BirdRoutes(family)
		if err != nil {
			return true, "the kernel may hold routes of BIRD: " + err.Error()
		}
		if found {
			return true, "the kernel holds " + family.String() + " routes of BIRD"
		}
		asked = append(asked, family.String())
	}
	return false, "the kernel holds no " + strings.Join(asked, " or ") + " routes of BIRD, so there is nothing to preserve"
}

func (f Families) list() []kernel.Family {
	var out []kernel.Family
	if f.IPv4 {
		out = append(out, kernel.IPv4)
	}
	if f.IPv6 {
		out = append(out, kernel.IPv6)
	}
	return out
}
