package render

import (
	"errors"
	"io/fs"
	"math"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// none is written where there is to be nothing.
const none = "none"

// maxSocketPath is the longest path of a socket that Linux can connect to, in bytes
// (unix(7)).
const maxSocketPath = 107

var versionForm = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,2}( or [0-9]+(\.[0-9]+){0,2})*$`)

// bothFamilies is written where there are both address families.
const bothFamilies = "both"

func familyValue(text string) ([]bgp.Family, *fault) {
	for _, f := range bgp.Families {
		if f.String() == text {
			return []bgp.Family{f}, nil
		}
	}
	if text == bothFamilies {
		return bgp.Families, nil
	}
	return nil, newFault(calico.RuleEnum, "", "family is IPv4, IPv6 or both, not %q", text)
}

func binaryValue(text string) (string, *fault) {
	if !fileName.MatchString(text) && !filepath.IsAbs(text) {
		return text, newFault(calico.RuleWrongType, "", "binary %q is neither the plain name of a program nor an absolute path", text)
	}
	return text, nil
}

func versionValue(text string) (string, *fault) {
	switch {
	case text == "any":
		return "", nil
	case !versionForm.MatchString(text):
		return text, newFault(calico.RuleWrongType, `write "1.6", "2 or 3" or any`, "version %q is not a version of BIRD", text)
	}
	return text, nil
}

func checkValue(text string) (CheckMode, *fault) {
	mode := CheckMode(text)
	switch mode {
	case CheckAuto, CheckRequire, CheckOff:
		return mode, nil
	}
	return mode, newFault(calico.RuleEnum, calico.DidYouMean(text, checkModes), "check is %s, not %q", strings.Join(checkModes, ", "), text)
}

// absolute parses the field of that name as an absolute path.
func absolute(field string) func(string) (string, *fault) {
	return func(text string) (string, *fault) {
		if !filepath.IsAbs(text) {
			return text, newFault(calico.RuleWrongType, "", "%s %q is not an absolute path", field, text)
		}
		return filepath.Clean(text), nil
	}
}

func socketValue(text string) (string, *fault) {
	if text == "" || text == none {
		return "", nil
	}
	path, f := absolute("socket")(text)
	if f != nil {
		f.hint = "write none if there is no socket"
	} else if len(path) > maxSocketPath {
		f = newFault(calico.RuleRange, "", "socket %q is longer than %d bytes, which no program can connect to", path, maxSocketPath)
	}
	return path, f
}

const octalHint = `modes are octal, however they are written: "0640", 0640, 640 and 0o640 are the same`

func modeValue(text string) (fs.FileMode, *fault) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0o"), 8, 32)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // then n is the largest number
		return 0, newFault(calico.RuleWrongType, octalHint, "mode %q is not an octal number", text)
	}
	const (
		all         = 0o777
		ownerRW     = 0o600
		othersWrite = 0o002
	)
	switch {
	case n > all:
		return 0, newFault(calico.RuleRange, octalHint, "mode %q is more than 0777", text)
	case n&ownerRW != ownerRW:
		return 0, newFault(calico.RuleRange, octalHint, "mode %q means %04o, with which the owner could not read and write the file", text, n)
	case n&othersWrite != 0:
		return 0, newFault(calico.RuleRange, octalHint, "mode %q means %04o, with which everybody could write the file", text, n)
	}
	return fs.FileMode(n), nil
}

// accounts finds users and groups of the system by name.
type accounts struct {
	user  func(name string) (*user.User, error)
	group func(name string) (*user.Group, error)
}

// system has the accounts of this system.
var system = accounts{user.Lookup, user.LookupGroup}

// owner parses user[:group], as names or numbers.
func (a accounts) owner(text string) (*Owner, *fault) {
	who, group, both := strings.Cut(text, ":")
	if who == "" || (both && group == "") {
		return nil, newFault(calico.RuleWrongType, "write user or user:group, as names or numbers", "owner %q lacks a part", text)
	}
	o := &Owner{GID: -1}
	var f *fault
	o.UID, f = id("user", who, func() (string, error) {
		u, err := a.user(who)
		if err != nil {
			return "", err
		}
		return u.Uid, nil
	})
	if both && f == nil {
		o.GID, f = id("group", group, func() (string, error) {
			g, err := a.group(group)
			if err != nil {
				return "", err
			}
			return g.Gid, nil
		})
	}
	return o, f
}

// id is the number of an account.
func id(kind, name string, lookup func() (string, error)) (int, *fault) {
	number := name
	if strings.Trim(name, "0123456789") != "" {
		found, err := lookup()
		_, noUser := errors.AsType[user.UnknownUserError](err)
		_, noGroup := errors.AsType[user.UnknownGroupError](err)
		switch {
		case noUser || noGroup:
			return 0, newFault(calico.RuleEnum, "write a number if only another container knows the name", "there is no %s %q on this system", kind, name)
		case err != nil:
			return 0, newFault(calico.RuleUnreadable, "", "%s %q cannot be looked up: %s", kind, name, err)
		}
		number = found
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n >= math.MaxUint32 { // which stands for no account in chown(2)
		return 0, newFault(calico.RuleRange, "", "%s %q is out of range", kind, name)
	}
	return int(n), nil
}
