package tree

import "strings"

// Why describes why a node is not ready: its own reason, its conditions, and the reasons of its children that are not ready.
// It returns nil for a node that is ready.
func Why(node *Node) []string {
	if node.State == Ready {
		return nil
	}
	lines := []string{line(node.Address(), node)}
	for _, condition := range Conditions(node.Object) {
		if node.Object.GetKind() != "Pod" && condition.Status != "True" && !strings.Contains(lines[0], condition.Message) {
			lines = append(lines, "  "+condition.String())
		}
	}
	for _, child := range node.Children {
		lines = append(lines, indent(whyBelow(child))...)
	}
	return lines
}

// whyBelow is like Why, for a child, which may be ready while one of its children is not.
func whyBelow(node *Node) []string {
	var lines []string
	if node.State != Ready {
		lines = append(lines, line(node.Title(), node))
	}
	for _, child := range node.Children {
		lines = append(lines, indent(whyBelow(child))...)
	}
	return lines
}

func line(name string, node *Node) string {
	text := name + ": " + string(node.State)
	if node.Message != "" {
		text += ": " + node.Message
	}
	return text
}

func indent(lines []string) []string {
	indented := make([]string, len(lines))
	for i, text := range lines {
		indented[i] = "  " + text
	}
	return indented
}
