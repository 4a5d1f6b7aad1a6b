package calico

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// DidYouMean returns a question such as `did you mean "peerIP"?` when word looks like
// a slip of one of the candidates, else "".
func DidYouMean(word string, candidates []string) string {
	if c := closest(word, candidates); c != "" {
		return fmt.Sprintf("did you mean %q?", c)
	}
	return ""
}

// closest returns the candidate that word most likely stands for, or "" when none is
// within a third of word's letters. The case of letters does not count. Among equally
// near candidates the first in the order of the alphabet is taken, so that the answer
// does not depend on the order they come in.
func closest(word string, candidates []string) string {
	best, limit := "", max(1, utf8.RuneCountInString(word)/3)
	for _, c := range candidates {
		d := editDistance(strings.ToLower(word), strings.ToLower(c), limit)
		if d < limit || d == limit && (best == "" || c < best) {
			best, limit = c, d
		}
	}
	return best
}

// editDistance counts the letters to insert, delete or replace, and the neighbours to
// swap, that make b out of a (Damerau-Levenshtein, no letter touched twice). Distances
// above limit all come out as limit+1.
func editDistance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d > limit || -d > limit {
		return limit + 1
	}
	// Three rows of the table of distances between prefixes: the current one and the
	// two before it.
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			replace := last[j-1]
			if x[i-1] != y[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(y)], limit+1)
}
