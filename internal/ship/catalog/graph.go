package catalog

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
)

// Graph is the upgrade graph of a package.
type Graph struct {
	Package        string         `json:"package"`
	DefaultChannel string         `json:"defaultChannel"`
	Channels       []ChannelGraph `json:"channels"`
}

// ChannelGraph is the upgrade graph of a channel.
type ChannelGraph struct {
	Name string `json:"name"`
	Head string `json:"head"`
	// Nodes are the bundles, the oldest first.
	Nodes []Node `json:"nodes"`
}

// Node is a bundle in a channel.
type Node struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Replaces and Skips are bundles of the channel from which an upgrade leads here directly: those that the entry names, and those in
	// its range of versions.
	Replaces   string   `json:"replaces,omitempty"`
	Skips      []string `json:"skips,omitempty"`
	Deprecated string   `json:"deprecated,omitempty"`
}

// Graph returns the upgrade graph of a package.
func (p *Package) Graph() Graph {
	g := Graph{Package: p.Name, DefaultChannel: p.DefaultChannel}
	deprecated := messages(p)
	for _, c := range p.Channels {
		g.Channels = append(g.Channels, p.channelGraph(c, deprecated))
	}
	return g
}

func (p *Package) channelGraph(c *Channel, deprecated map[string]string) ChannelGraph {
	made := ChannelGraph{Name: c.Name, Head: strings.Join(c.Heads(), ", ")}
	versions := map[string]semver.Version{}
	for _, one := range c.Entries {
		node := Node{Name: one.Name, Replaces: one.Replaces, Deprecated: deprecated["bundle "+one.Name]}
		if b := p.Bundle(one.Name); b != nil {
			node.Version = b.Version()
			if parsed, err := semver.Parse(node.Version); err == nil {
				versions[one.Name] = parsed
			}
		}
		made.Nodes = append(made.Nodes, node)
	}
	for i, one := range c.Entries {
		made.Nodes[i].Skips = skipped(c, one, versions)
	}
	slices.SortStableFunc(made.Nodes, func(a, b Node) int { return versions[a.Name].Compare(versions[b.Name]) })
	return made
}

// skipped returns the entries that an entry skips by name or by range, apart from the one that it replaces.
func skipped(c *Channel, of Entry, versions map[string]semver.Version) []string {
	var all []string
	inRange, err := semver.ParseRange(of.SkipRange)
	for _, one := range c.Entries {
		version, known := versions[one.Name]
		matches := of.SkipRange != "" && err == nil && known && inRange(version)
		if one.Name != of.Name && one.Name != of.Replaces && (matches || slices.Contains(of.Skips, one.Name)) {
			all = append(all, one.Name)
		}
	}
	return all
}

// String returns the graph for a terminal: the channels, and the bundles of each, the newest first.
func (g Graph) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", g.Package)
	for _, c := range g.Channels {
		mark := ""
		if c.Name == g.DefaultChannel {
			mark = ", the default"
		}
		fmt.Fprintf(&out, "  channel %s%s\n", c.Name, mark)
		for _, node := range slices.Backward(c.Nodes) {
			fmt.Fprintf(&out, "    %s\n", strings.Join(node.words(c.Head), ", "))
		}
	}
	return out.String()
}

func (n Node) words(head string) []string {
	words := []string{n.Name}
	if n.Name == head {
		words = append(words, "the head")
	}
	if n.Replaces != "" {
		words = append(words, "replaces "+n.Replaces)
	}
	if len(n.Skips) > 0 {
		words = append(words, "skips "+strings.Join(n.Skips, " "))
	}
	if n.Deprecated != "" {
		words = append(words, "deprecated: "+n.Deprecated)
	}
	return words
}

// Sizes in the picture.
const (
	stepX, boxWidth, boxHeight = 190, 160, 30
	channelHeight              = 150
	margin                     = 20
)

// SVG returns the graph as a picture: a row for each channel, with the oldest bundle on the left. Lines are upgrades by replaces, and
// dashed lines those by skips.
func (g Graph) SVG() string {
	columns := 1
	for _, c := range g.Channels {
		columns = max(columns, len(c.Nodes))
	}
	width, height := 2*margin+columns*stepX, 2*margin+len(g.Channels)*channelHeight
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&out, "<title>%s</title>\n", html.EscapeString("Upgrades of "+g.Package))
	out.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	for i, c := range g.Channels {
		g.drawChannel(&out, c, margin+i*channelHeight)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

func (g Graph) drawChannel(out *strings.Builder, c ChannelGraph, top int) {
	name := c.Name
	if name == g.DefaultChannel {
		name += " (default)"
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", margin, top+12, html.EscapeString(name))
	row := top + channelHeight - boxHeight - margin
	column := map[string]int{}
	for i, node := range c.Nodes {
		column[node.Name] = i
	}
	for i, node := range c.Nodes {
		if from, ok := column[node.Replaces]; ok {
			drawEdge(out, from, i, row, "")
		}
		for _, skipped := range node.Skips {
			drawEdge(out, column[skipped], i, row, ` stroke-dasharray="4"`)
		}
	}
	for i, node := range c.Nodes {
		fill := "#eef"
		switch {
		case node.Deprecated != "":
			fill = "#fdd"
		case node.Name == c.Head:
			fill = "#dfd"
		}
		x := margin + i*stepX
		fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" rx="4" fill="%s" stroke="#446"><title>%s</title></rect>`+"\n", x, row, boxWidth, boxHeight, fill, html.EscapeString(strings.Join(node.words(c.Head), ", ")))
		fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", x+boxWidth/2, row+boxHeight/2+4, html.EscapeString(shorten(node.Name)))
	}
}

// drawEdge draws an upgrade between two columns: a line between neighbors, and else an arc above the bundles between them.
func drawEdge(out *strings.Builder, from, to, row int, style string) {
	x1, x2, y := margin+from*stepX+boxWidth, margin+to*stepX, row+boxHeight/2
	if to == from+1 {
		fmt.Fprintf(out, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#446"%s/>`+"\n", x1, y, x2, y, style)
		return
	}
	x1, x2 = margin+from*stepX+boxWidth/2, margin+to*stepX+boxWidth/2
	rise := min(20+12*max(to-from, from-to), channelHeight-boxHeight-2*margin)
	fmt.Fprintf(out, `<path d="M%d %d C%d %d %d %d %d %d" fill="none" stroke="#446"%s/>`+"\n", x1, row, x1, row-rise, x2, row-rise, x2, row, style)
}

// maxShown is the number of characters of a name that fit into a box.
const maxShown = 24

func shorten(name string) string {
	if len(name) <= maxShown {
		return name
	}
	return "…" + name[len(name)-maxShown+1:]
}
