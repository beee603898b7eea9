package tree

import "strings"

// Why tells why a node is not ready: its own reason, its conditions, and below it those of
// the children that are not ready either. It is nil for a node that is.
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

// whyBelow is Why for a child, which may be ready while something below it is not.
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
