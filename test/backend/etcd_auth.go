package backend

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// readPrefixes are the keys that birdconfd reads.
var readPrefixes = []string{
	resourcesKey + "bgpconfigurations/",
	resourcesKey + "bgpfilters/",
	resourcesKey + "bgppeers/",
	resourcesKey + "ippools/",
	resourcesKey + "nodes/",
	affinitiesKey,
}

// enableAuth makes the administrator and a user who may only read, and has etcd ask for
// passwords from then on.
func (e *Etcd) enableAuth() error {
	c, err := e.newClient("", "")
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	root, user, password := rand.Text(), "birdconfd", rand.Text()
	if err := addUsers(ctx, c, root, user, password); err != nil {
		return fmt.Errorf("enable authentication in etcd: %w", err)
	}
	e.root, e.User, e.Password = root, user, password
	return nil
}

func addUsers(ctx context.Context, c *clientv3.Client, root, user, password string) error {
	steps := []func() error{
		func() error { _, err := c.UserAdd(ctx, "root", root); return err },
		func() error { _, err := c.RoleAdd(ctx, "root"); return err },
		func() error { _, err := c.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := c.UserAdd(ctx, user, password); return err },
		func() error { _, err := c.RoleAdd(ctx, "reader"); return err },
		func() error { _, err := c.UserGrantRole(ctx, user, "reader"); return err },
	}
	for _, prefix := range readPrefixes {
		steps = append(steps, func() error { return grant(ctx, c, prefix) })
	}
	steps = append(steps, func() error { _, err := c.AuthEnable(ctx); return err })
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func grant(ctx context.Context, c *clientv3.Client, prefix string) error {
	_, err := c.RoleGrantPermission(ctx, "reader", prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermRead))
	return err
}

// Grant returns a request that lets the user of Auth read the keys below a prefix.
func (e *Etcd) Grant(c *clientv3.Client, prefix string) func(context.Context) error {
	return func(ctx context.Context) error { return grant(ctx, c, prefix) }
}

// Revoke takes from the user of Auth what Grant gave, or what the user may read at first.
func (e *Etcd) Revoke(t testing.TB, c *clientv3.Client, prefix string) {
	t.Helper()
	Do(t, "revoke "+prefix, func(ctx context.Context) error {
		_, err := c.RoleRevokePermission(ctx, "reader", prefix, clientv3.GetPrefixRangeEnd(prefix))
		return err
	})
}
