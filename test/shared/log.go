package shared

import (
	"strings"
	"sync"
)

// Log keeps what is written to it. Any goroutine may write and read.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all of it.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count counts how often a text is in it.
func (l *Log) Count(text string) int { return strings.Count(l.String(), text) }
