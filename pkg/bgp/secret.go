package bgp

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a password that does not print itself: formatting, logging and
// marshalling give a placeholder, and only Reveal gives the value.
type Secret struct{ value string }

const concealed = "(secret)"

// NewSecret wraps a value.
func NewSecret(value string) Secret { return Secret{value} }

// IsSet reports whether there is a value.
func (s Secret) IsSet() bool { return s.value != "" }

// Reveal returns the value.
func (s Secret) Reveal() string { return s.value }

// String returns a placeholder.
func (s Secret) String() string {
	if !s.IsSet() {
		return ""
	}
	return concealed
}

// Format writes a placeholder whatever the verb: without it %d would show the value.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText returns a placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns a placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
