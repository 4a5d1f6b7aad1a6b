package render

import (
	"fmt"
	"slices"
	"text/template/parse"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// checkCalls follows all calls of templates, beginning with those that make files. One
// that is not defined would otherwise show only with the data that leads there; one that
// an operator defines and nothing calls is most likely a slip in its name.
func (l *loader) checkCalls(requests []request) {
	seen := map[string]bool{}
	for _, r := range requests {
		if _, ok := l.defined[r.Template]; ok {
			l.follow(r.Template, seen)
			continue
		}
		l.fail(r.at, fmt.Sprintf("file %s asks for template %q, which is not defined", r.Name, r.Template), l.near(r.Template, ""))
	}
	for _, name := range l.names() {
		if d := l.defined[name]; d.layer > 0 && !seen[name] {
			l.report(calico.Warning, d.at, fmt.Sprintf("nothing calls template %q, so it has no effect", name),
				l.near(name, fmt.Sprintf("call it with {{template %q .}}, or remove it", name)))
		}
	}
}

func (l *loader) follow(name string, seen map[string]bool) {
	if seen[name] {
		return
	}
	seen[name] = true
	tree := l.defined[name].tree
	eachCall(tree.Root, func(n *parse.TemplateNode) {
		if _, ok := l.defined[n.Name]; ok {
			l.follow(n.Name, seen)
			return
		}
		location, _ := tree.ErrorContext(n)
		l.fail(position(location), fmt.Sprintf("template %q is not defined", n.Name), l.near(n.Name, ""))
	})
}

// near suggests another template's name, or else what is handed in.
func (l *loader) near(name, otherwise string) string {
	names := slices.DeleteFunc(l.names(), func(n string) bool { return n == name })
	if hint := calico.DidYouMean(name, names); hint != "" {
		return hint
	}
	return otherwise
}

// eachCall visits all calls of other templates below a node.
func eachCall(n parse.Node, visit func(*parse.TemplateNode)) {
	branch := func(b *parse.BranchNode) {
		eachCall(b.List, visit)
		eachCall(b.ElseList, visit)
	}
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil { // there is no else
			return
		}
		for _, child := range n.Nodes {
			eachCall(child, visit)
		}
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	case *parse.TemplateNode:
		visit(n)
	}
}
