package bird

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRefusal(t *testing.T) {
	for _, tt := range []struct {
		rule, output string
		want         *ConfigError // without Output
	}{
		{"1.6", "bird: t.conf:3:23 Number out of range", &ConfigError{File: "t.conf", Line: 3, Column: 23, Message: "Number out of range"}},
		{"1.6 for IPv6", "bird6: t.conf:3:25 syntax error\n", &ConfigError{File: "t.conf", Line: 3, Column: 25, Message: "syntax error"}},
		{"2.x", "bird: t.conf:3:25 syntax error, unexpected S, expecting ';'", &ConfigError{File: "t.conf", Line: 3, Column: 25, Message: "syntax error, unexpected S, expecting ';'"}},
		{"3.x", "bird: 2026-11-30 20:58:27.066 [0001] <FATAL> t.conf:3:23 Number out of range", &ConfigError{File: "t.conf", Line: 3, Column: 23, Message: "Number out of range"}},
		{"3.x with whole seconds", "bird: 2026-11-30 20:58:27 [0001] <FATAL> t.conf:3:23 Number out of range", &ConfigError{File: "t.conf", Line: 3, Column: 23, Message: "Number out of range"}},
		{"severity alone", "bird: <FATAL> /etc/bird.conf:3:23 Number out of range", &ConfigError{File: "/etc/bird.conf", Line: 3, Column: 23, Message: "Number out of range"}},
		{"no name in front", "t.conf:3:25 syntax error", &ConfigError{File: "t.conf", Line: 3, Column: 25, Message: "syntax error"}},
		{"a renamed binary", "bird-1.6: ./t.conf:3:25 syntax error", &ConfigError{File: "./t.conf", Line: 3, Column: 25, Message: "syntax error"}},
		{"blanks and colons in the path", "bird: /a b/c:1:2/t: x.conf:3:25 syntax error", &ConfigError{File: "/a b/c:1:2/t: x.conf", Line: 3, Column: 25, Message: "syntax error"}},
		{"a colon in the message", "bird: t.conf:1:10 Unable to open included file ./x.cfg: No such file or directory", &ConfigError{File: "t.conf", Line: 1, Column: 10, Message: "Unable to open included file ./x.cfg: No such file or directory"}},
		{"a place in the message", "bird: t.conf:1:10 foo:2:3 bar", &ConfigError{File: "t.conf", Line: 1, Column: 10, Message: "foo:2:3 bar"}},
		{"warnings before it", "bird: t.conf:115:1: Missing authentication option, assuming MD5\nbird: t.conf:120:3 Symbol 'd' already defined", &ConfigError{File: "t.conf", Line: 120, Column: 3, Message: "Symbol 'd' already defined"}},
		{"something after it", "bird: t.conf:3:25 syntax error\nbye", &ConfigError{File: "t.conf", Line: 3, Column: 25, Message: "syntax error"}},
		{"a warning is no refusal", "bird: t.conf:115:1: Missing authentication option, assuming MD5", nil},
		{"no place", "bird: Unable to open configuration file t.conf: No such file or directory", nil},
		{"a line number that is none", "bird: t.conf:99999999999999999999:1 syntax error", nil},
		{"nothing", "", nil},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got := parseRefusal(tt.output)
			if tt.want != nil {
				tt.want.Output = tt.output
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigErrorText(t *testing.T) {
	e := &ConfigError{File: "bird.cfg", Line: 3, Column: 25, Message: "syntax error", Output: "bird: bird.cfg:3:25 syntax error"}
	if got, want := e.Error(), "bird.cfg:3:25: syntax error"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
