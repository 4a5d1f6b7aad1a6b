package launch

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/internal/kernel"
)

// Families are address families.
type Families struct {
	IPv4, IPv6 bool
}

// FamiliesOf tells for which address families a program works. When it cannot be asked that
// may be both.
func FamiliesOf(ctx context.Context, program string) Families {
	v, err := bird.ReadVersion(ctx, program)
	if err != nil {
		return Families{true, true}
	}
	ipv4, ipv6 := v.Families(filepath.Base(program))
	return Families{ipv4, ipv6}
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
