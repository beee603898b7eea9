package house

import (
	"bytes"
	"flag"
	"fmt"
	"html"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write docs/architecture.md's table and its picture again")

// The table is between these lines.
const (
	tableBegins = "<!-- layers: written by go test ./internal/house -rewrite -->\n"
	tableEnds   = "<!-- end of layers -->\n"
)

// TestArchitectureIsDrawn checks that docs/architecture.md and its picture show the layers and packages of the code.
func TestArchitectureIsDrawn(t *testing.T) {
	t.Parallel()
	page := filepath.Join(root, "docs", "architecture.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table of layers", page)
	}
	shelves := shelve(t)
	same(t, page, []byte(before+tableBegins+tableOf(shelves)+tableEnds+after))
	same(t, filepath.Join(root, "docs", "images", "architecture.svg"), pictureOf(shelves))
}

// same compares a file with its expected content, or writes the file.
func same(t *testing.T, file string, want []byte) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code is: run go test ./internal/house -rewrite, and read the diff (%v)", file, err)
	}
}

// shelf is a layer of a module with its packages.
type shelf struct {
	module string
	layer
	packages []*pkg
}

// shelve sorts the packages of all modules into their layers, the highest first.
func shelve(t *testing.T) []shelf {
	t.Helper()
	var shelves []shelf
	for _, m := range modules {
		for l := len(layers[m.name]) - 1; l >= 0; l-- {
			s := shelf{module: m.name, layer: layers[m.name][l]}
			for _, p := range sources(t) {
				if at, ok := positionOf(p.dir); ok && at.module == m.name && at.layer == l && !isGroup(p.dir) {
					s.packages = append(s.packages, p)
				}
			}
			shelves = append(shelves, s)
		}
	}
	return shelves
}

// isGroup reports whether a directory only contains packages.
func isGroup(dir string) bool { return slices.Contains(groups, dir) }

func tableOf(shelves []shelf) string {
	var b strings.Builder
	module := ""
	for _, s := range shelves {
		if s.module != module {
			module = s.module
			fmt.Fprintf(&b, "\n### Module %s\n\n| layer | package | what it is for |\n| --- | --- | --- |\n", module)
		}
		for i, p := range s.packages {
			name := ""
			if i == 0 {
				name = s.name + ": " + s.about
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", name, link(p), summary(p))
		}
	}
	return b.String() + "\n"
}

func link(p *pkg) string {
	name := p.dir
	if name == "" {
		name = "operon"
	}
	return fmt.Sprintf("[`%s`](../%s)", name, p.dir)
}

// summary returns the first sentence of a package comment without "Package" and the name.
func summary(p *pkg) string {
	text := strings.Join(strings.Fields(p.comment()), " ")
	text = strings.TrimPrefix(text, "Package "+p.name()+" ")
	for _, end := range []string{". ", ": "} {
		text, _, _ = strings.Cut(text+" ", end)
	}
	return strings.ReplaceAll(strings.TrimSpace(text), "|", "\\|")
}

// Measures of the picture, in pixels.
const (
	width, margin, labelWidth   = 1180, 16, 150
	lineHeight, padding, charPx = 26, 12, 7
)

// pictureOf draws the layers as rows, the commands on top, and each package as a box.
func pictureOf(shelves []shelf) []byte {
	var body strings.Builder
	y, module := margin, ""
	for _, s := range shelves {
		if s.module != module {
			module = s.module
			fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\" class=\"module\">module %s</text>\n", margin, y+18, module)
			y += 30
		}
		y = drawShelf(&body, s, y)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n", width, y+margin, width, y+margin)
	b.WriteString("<title>The layers of Operon: each imports only what stands below it</title>\n<style>\n" +
		"text { font: 12px ui-monospace, monospace; fill: #1f2328 } .module { font-weight: bold; font-size: 14px } .layer { font-weight: bold }\n" +
		".row { fill: #f6f8fa; stroke: #d0d7de } .box { fill: #ffffff; stroke: #57606a } .public { fill: #ddf4ff }\n</style>\n" +
		"<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n")
	b.WriteString(body.String())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// drawShelf draws a row and returns the position of the next one.
func drawShelf(b *strings.Builder, s shelf, y int) int {
	var boxes strings.Builder
	x, line := margin+labelWidth, y+padding
	for _, p := range s.packages {
		name := p.dir
		if name == "" {
			name = "operon"
		}
		name = strings.TrimPrefix(strings.TrimPrefix(name, "cluster/"), "internal/")
		wide := len(name)*charPx + 16
		if x+wide > width-margin-padding {
			x, line = margin+labelWidth, line+lineHeight
		}
		class := "box"
		if public(p) {
			class = "box public"
		}
		fmt.Fprintf(&boxes, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"20\" rx=\"4\" class=\"%s\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
			x, line, wide, class, x+8, line+14, html.EscapeString(path.Clean(name)))
		x += wide + 6
	}
	height := line + lineHeight + padding - y - 6
	fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" class=\"row\"/><text x=\"%d\" y=\"%d\" class=\"layer\">%s</text>\n%s",
		margin, y, width-2*margin, height, margin+10, y+padding+14, html.EscapeString(s.name), boxes.String())
	return y + height + 6
}
