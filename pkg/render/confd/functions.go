package confd

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/kelseyhightower/memkv"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

// functions are what templates can call. Those of all generations are there at once.
func functions(r *run) template.FuncMap {
	f := template.FuncMap{
		"base": path.Base, "dir": path.Dir, "split": strings.Split, "join": join,
		"toUpper": strings.ToUpper, "toLower": strings.ToLower, "contains": strings.Contains,
		"hasSuffix": strings.HasSuffix, "trimSuffix": strings.TrimSuffix, "replace": replace,
		"json": jsonObject, "jsonArray": jsonArray, "map": makeMap, "parseBool": strconv.ParseBool,
		"datetime": time.Now, "lookupIP": r.lookupIP, "lookupIPV4": r.lookupIPV4, "lookupIPV6": r.lookupIPV6,
		"lookupSRV": r.lookupSRV, "fileExists": fileExists,
		"base64Encode": base64Encode, "base64Decode": base64Decode, "getenv": r.getenv,
		"reverse": reverse, "sortByLength": sortByLength, "sortKVByLength": sortKVByLength,
		"seq": seq, "atoi": strconv.Atoi,
		"add": func(a, b int) int { return a + b }, "sub": func(a, b int) int { return a - b },
		"mul": func(a, b int) int { return a * b }, "div": divide, "mod": remainder,

		"getBGPConfig": r.getBGPConfig, "bgpFilterBIRDFuncs": r.filterFunctions, "emitBIRDBGPFilterFuncs": r.filterFunctions,
		"bgpFilterFunctionName": filterFunctionName, "emitFunctionName": filterFunctionName,
		"hashToIPv4": func(text string) string { return bgp.HashRouterID(text).String() },
	}
	maps.Copy(f, r.keyFunctions())
	maps.Copy(f, r.guards())
	maps.Copy(f, bounded)
	return f
}

// maxText bounds texts that templates make, in bytes: one that doubles in each round of a loop
// would otherwise take all memory before any time limit.
const maxText = 4 << 20

func short(s string) (string, error) {
	if len(s) > maxText {
		return "", fmt.Errorf("the text would be larger than %d bytes", maxText)
	}
	return s, nil
}

// bounded are text/template's own functions that can make a text longer.
var bounded = template.FuncMap{
	"print":    func(v ...any) (string, error) { return short(fmt.Sprint(v...)) },
	"println":  func(v ...any) (string, error) { return short(fmt.Sprintln(v...)) },
	"printf":   printf,
	"html":     func(v ...any) (string, error) { return short(template.HTMLEscaper(v...)) },
	"js":       func(v ...any) (string, error) { return short(template.JSEscaper(v...)) },
	"urlquery": func(v ...any) (string, error) { return short(template.URLQueryEscaper(v...)) },
}

// printf refuses what could become too long before it makes it.
func printf(format string, v ...any) (string, error) {
	longest := 0
	for _, a := range v {
		if s, ok := a.(string); ok {
			longest = max(longest, len(s))
		}
	}
	if len(format)+strings.Count(format, "%")*longest > 4*maxText {
		return "", fmt.Errorf("the text would be larger than %d bytes", maxText)
	}
	return short(fmt.Sprintf(format, v...))
}

func join(list []string, sep string) (string, error) {
	size := 0
	for _, s := range list {
		if size += len(s) + len(sep); size > maxText {
			return "", fmt.Errorf("the text would be larger than %d bytes", maxText)
		}
	}
	return strings.Join(list, sep), nil
}

func replace(s, old, new string, n int) (string, error) {
	count := strings.Count(s, old)
	if n >= 0 {
		count = min(count, n)
	}
	if len(new) > 0 && count > 0 && len(s)+count*len(new) > maxText {
		return "", fmt.Errorf("the text would be larger than %d bytes", maxText)
	}
	return strings.Replace(s, old, new, n), nil
}

// jsonObject reads an object, whose numbers are float64.
func jsonObject(text string) (map[string]any, error) {
	var m map[string]any
	err := json.Unmarshal([]byte(text), &m)
	if err == nil && m == nil {
		m = map[string]any{}
	}
	return m, readable(err)
}

// jsonArray reads a list likewise.
func jsonArray(text string) ([]any, error) {
	var list []any
	err := json.Unmarshal([]byte(text), &list)
	if err == nil && list == nil {
		list = []any{}
	}
	return list, readable(err)
}

// readable says what is wrong without Go's names of types, and never shows the text.
func readable(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the text is JSON of another kind: %s", e.Value)
	} else if err != nil {
		return fmt.Errorf("the text is not JSON: %w", err)
	}
	return nil
}

func makeMap(v ...any) (map[string]any, error) {
	if len(v)%2 != 0 {
		return nil, errors.New("a key has no value: keys and values go in pairs")
	}
	m := map[string]any{}
	for i := 0; i < len(v); i += 2 {
		key, ok := v[i].(string)
		if !ok {
			return nil, fmt.Errorf("key %v is not a text", v[i])
		}
		m[key] = v[i+1]
	}
	return m, nil
}

// lookupTime bounds one question to the name service.
const lookupTime = 2 * time.Second

// lookup gives a question to the name service its time, of that which is left.
func (r *run) lookup(ask func(context.Context)) error {
	left := r.limits.Time - time.Since(r.data.started)
	if left <= 0 {
		return fmt.Errorf("looking up names has taken %s", r.limits.Time)
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(left, lookupTime))
	defer cancel()
	ask(ctx)
	return nil
}

// lookups are addresses of a name that suit, in order; as in confd there are none when it
// cannot be looked up.
func (r *run) lookups(network, host string) ([]string, error) {
	out := []string{}
	err := r.lookup(func(ctx context.Context) {
		found, _ := net.DefaultResolver.LookupIP(ctx, network, host)
		for _, ip := range found {
			out = append(out, ip.String())
		}
	})
	slices.Sort(out)
	return out, err
}

func (r *run) lookupIP(host string) ([]string, error)   { return r.lookups("ip", host) }
func (r *run) lookupIPV4(host string) ([]string, error) { return r.lookups("ip4", host) }
func (r *run) lookupIPV6(host string) ([]string, error) { return r.lookups("ip6", host) }

func (r *run) lookupSRV(service, proto, name string) ([]*net.SRV, error) {
	var found []*net.SRV
	err := r.lookup(func(ctx context.Context) {
		_, found, _ = net.DefaultResolver.LookupSRV(ctx, service, proto, name)
	})
	key := func(s *net.SRV) string { return fmt.Sprintf("%s%d%d%d", s.Target, s.Port, s.Priority, s.Weight) }
	slices.SortFunc(found, func(a, b *net.SRV) int { return strings.Compare(key(a), key(b)) })
	return found, err
}

// fileExists counts a file that cannot be looked at as one that is there.
func fileExists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

func base64Encode(s string) (string, error) {
	return short(base64.StdEncoding.EncodeToString([]byte(s)))
}

func base64Decode(s string) (string, error) {
	out, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", errors.New("the text is not base64 with padding")
	}
	return string(out), nil
}

// getenv returns a variable; one that is not set or empty has the value otherwise.
func (r *run) getenv(name string, otherwise ...string) string {
	if name == "NODENAME" {
		return r.data.Node // it may have been given in another way
	}
	if r.data.Getenv != nil {
		if v, _ := r.data.Getenv(name); v != "" {
			return v
		}
	}
	if len(otherwise) > 0 {
		return otherwise[0]
	}
	return ""
}

// reverse turns a list round.
func reverse(list any) (any, error) {
	switch l := list.(type) {
	case []string:
		l = slices.Clone(l)
		slices.Reverse(l)
		return l, nil
	case memkv.KVPairs:
		l = slices.Clone(l)
		slices.Reverse(l)
		return l, nil
	}
	return nil, fmt.Errorf("it takes a list of texts or of pairs, not %T", list)
}

func sortByLength(list []string) []string {
	out := slices.Clone(list)
	sort.SliceStable(out, func(i, j int) bool { return len(out[i]) < len(out[j]) })
	return out
}

func sortKVByLength(list memkv.KVPairs) memkv.KVPairs {
	out := slices.Clone(list)
	sort.SliceStable(out, func(i, j int) bool { return len(out[i].Key) < len(out[j].Key) })
	return out
}

// maxSequence bounds the length of seq.
const maxSequence = 1 << 20

func seq(first, last int) ([]int, error) {
	if first <= last && uint64(last)-uint64(first) >= maxSequence {
		return nil, fmt.Errorf("the sequence is longer than %d", maxSequence)
	}
	var out []int
	for i := first; i <= last; i++ {
		if out = append(out, i); i == last {
			break // the next may be no number any more
		}
	}
	return out, nil
}

var errZero = errors.New("division by zero")

func divide(a, b int) (int, error) {
	if b == 0 {
		return 0, errZero
	}
	return a / b, nil
}

func remainder(a, b int) (int, error) {
	if b == 0 {
		return 0, errZero
	}
	return a % b, nil
}
