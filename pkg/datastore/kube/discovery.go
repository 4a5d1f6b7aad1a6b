package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// errNotInstalled means that the server has neither of Calico's groups.
var errNotInstalled = errors.New("resources of Calico are not installed: the API server has neither crd.projectcalico.org/v1 nor projectcalico.org/v3")

// choose tells in which group Calico's resources are. Where there are both, an aggregated API
// server stands before the one with the resources, or they are being moved to the other.
func (c *clients) choose(ctx context.Context, asked string) (groupVersion, error) {
	switch asked {
	case "v1":
		return groupV1, nil
	case "v3":
		return groupV3, nil
	}
	has, err := c.groups(ctx)
	switch {
	case err != nil:
		return groupVersion{}, err
	case slices.Contains(has, groupV1.Group):
		return groupV1, nil
	case slices.Contains(has, groupV3.Group):
		return groupV3, nil
	}
	return groupVersion{}, errNotInstalled
}

// moved tells where Calico's resources may be now if their group is gone: in the other group, if
// the server has that.
func (c *clients) moved(ctx context.Context, from groupVersion) groupVersion {
	to := groupV1
	if from == groupV1 {
		to = groupV3
	}
	if has, err := c.groups(ctx); err != nil || slices.Contains(has, from.Group) || !slices.Contains(has, to.Group) {
		return from
	}
	return to
}

// groups lists the API groups that the server has.
func (c *clients) groups(ctx context.Context) ([]string, error) {
	var answer struct {
		Kind   string
		Groups []struct{ Name string }
	}
	if err := c.get(ctx, "/apis", &answer); err != nil {
		return nil, err
	}
	if answer.Kind != "APIGroupList" {
		return nil, fmt.Errorf("get /apis: the answer is of kind %q", answer.Kind)
	}
	var names []string
	for _, g := range answer.Groups {
		names = append(names, g.Name)
	}
	return names, nil
}

// presence is whether a server has a resource.
type presence int

const (
	served  presence = iota // it does
	leaving                 // it is being removed, with all its objects
	absent                  // it has others of the group, but not this one
	missing                 // it does not have the group
)

// presence asks whether the server has one of Calico's resources. One that is being removed
// takes no new objects any more.
func (c *clients) presence(ctx context.Context, gv groupVersion, plural string) (presence, error) {
	var answer struct {
		Kind      string
		Resources []struct {
			Name  string
			Verbs []string
		}
	}
	err := c.get(ctx, "/apis/"+gv.String(), &answer)
	if e, ok := errors.AsType[*errStatus](err); ok && e.code == http.StatusNotFound {
		return missing, nil
	}
	if err != nil {
		return 0, err
	}
	if answer.Kind != "APIResourceList" {
		return 0, fmt.Errorf("get /apis/%s: the answer is of kind %q", gv, answer.Kind)
	}
	for _, r := range answer.Resources {
		switch {
		case r.Name != plural:
		case slices.Contains(r.Verbs, "create"):
			return served, nil
		default:
			return leaving, nil
		}
	}
	return absent, nil
}
