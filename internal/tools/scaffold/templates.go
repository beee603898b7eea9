package scaffold

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"strings"
	"text/template"
)

//go:embed templates
var templateFiles embed.FS

// templates holds the templates of a project's files.
var templates = template.Must(template.New("").Funcs(template.FuncMap{"lower": strings.ToLower, "article": article}).ParseFS(templateFiles, "templates/*.tmpl"))

// fill plans a new file from a template.
func (p *Plan) fill(path, name string, about any) error {
	content, err := filled(name, about)
	if err == nil && strings.HasSuffix(path, ".go") {
		content, err = format.Source(content)
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	p.create(path, content)
	return nil
}

func filled(name string, about any) ([]byte, error) {
	var all bytes.Buffer
	err := templates.ExecuteTemplate(&all, name+".tmpl", about)
	return all.Bytes(), err
}

// article returns the name of a kind with its indefinite article.
func article(name string) string {
	if strings.ContainsAny(name[:1], "AEIOaeio") {
		return "an " + name
	}
	return "a " + name
}
