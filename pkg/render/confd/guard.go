package confd

import (
	"fmt"
	"text/template"
	"text/template/parse"
)

// Functions that guard calls put into templates.
const (
	stepFunction  = "birdconfd_step"
	printFunction = "birdconfd_print"
	enterFunction = "birdconfd_enter"
	leaveFunction = "birdconfd_leave"
)

// guard goes through a tree. It makes all loops and calls of templates count, and values that
// are printed be there: text/template itself can neither be stopped nor be made to refuse a
// value that is missing without refusing to test for it too.
type guard struct {
	tree     *parse.Tree
	template *Template
}

func (g guard) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	var nodes []parse.Node
	for _, n := range l.Nodes {
		g.node(n)
		if _, ok := n.(*parse.TemplateNode); ok {
			nodes = append(nodes, action(fmt.Sprintf("{{%s %q}}", enterFunction, g.at(n))), n, action("{{"+leaveFunction+"}}"))
		} else {
			nodes = append(nodes, n)
		}
	}
	l.Nodes = nodes
}

func (g guard) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.TextNode:
		g.template.Texts = append(g.template.Texts, string(n.Text))
	case *parse.ActionNode:
		g.pipe(n.Pipe)
		if len(n.Pipe.Decl) == 0 {
			n.Pipe.Cmds = append(n.Pipe.Cmds, g.print(n))
		}
	case *parse.IfNode:
		g.branch(&n.BranchNode)
	case *parse.WithNode:
		g.branch(&n.BranchNode)
	case *parse.RangeNode:
		g.branch(&n.BranchNode)
		n.List.Nodes = append([]parse.Node{g.step(n)}, n.List.Nodes...)
	case *parse.TemplateNode:
		g.pipe(n.Pipe)
	}
}

func (g guard) branch(b *parse.BranchNode) {
	g.pipe(b.Pipe)
	g.list(b.List)
	g.list(b.ElseList)
}

// pipe only looks.
func (g guard) pipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	for _, c := range p.Cmds {
		for _, a := range c.Args {
			switch a := a.(type) {
			case *parse.IdentifierNode:
				g.template.Calls[a.Ident] = true
			case *parse.FieldNode:
				g.fields(a.Ident)
			case *parse.VariableNode:
				g.fields(a.Ident)
			case *parse.StringNode:
				g.template.Texts = append(g.template.Texts, a.Text)
			case *parse.PipeNode:
				g.pipe(a)
			case *parse.ChainNode:
				g.fields(a.Field)
				if inner, ok := a.Node.(*parse.PipeNode); ok {
					g.pipe(inner)
				}
			}
		}
	}
}

// fields notes the names of fields, with a dot before them.
func (g guard) fields(names []string) {
	for _, n := range names {
		g.template.Calls["."+n] = true
	}
}

// at is the place of a node, as text/template writes it.
func (g guard) at(n parse.Node) string {
	location, _ := g.tree.ErrorContext(n)
	return location
}

// step makes a node that counts.
func (g guard) step(n parse.Node) parse.Node {
	return action(fmt.Sprintf("{{%s %q}}", stepFunction, g.at(n)))
}

// print makes the end of a pipeline that refuses values that are missing.
func (g guard) print(n *parse.ActionNode) *parse.CommandNode {
	text := fmt.Sprintf(`{{"" | %s %q %q}}`, printFunction, g.at(n), n.Pipe.String())
	return action(text).Pipe.Cmds[1]
}

// action parses a template that consists of one action.
func action(text string) *parse.ActionNode {
	stubs := (*run)(nil).guards()
	return template.Must(template.New("").Funcs(stubs).Parse(text)).Root.Nodes[0].(*parse.ActionNode)
}
