package house

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gopackages "golang.org/x/tools/go/packages"
)

// exampleAPI is the import path of the reader's API in the pages. galleryAPI is the package that replaces it.
const (
	exampleAPI = "example.com/web/api/v1"
	galleryAPI = modulePath + "/prove/testdata/gallery/api"
)

// TestHowToCodeCompiles type-checks the Go programs in docs/how-to: the blocks that start with a package clause.
func TestHowToCodeCompiles(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "how-to", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	overlay, patterns := map[string][]byte{}, []string{}
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(content), "```go\n")[1:] {
			code, _, closed := strings.Cut(block, "```")
			if !closed {
				t.Errorf("%s: code block %d does not end", page, i)
			}
			if !strings.HasPrefix(code, "package ") {
				continue
			}
			dir := fmt.Sprintf("howto_%s_%d", strings.ReplaceAll(strings.TrimSuffix(filepath.Base(page), ".md"), "-", "_"), i)
			file, err := filepath.Abs(filepath.Join(dir, "code.go"))
			if err != nil {
				t.Fatal(err)
			}
			overlay[file] = []byte(strings.ReplaceAll(code, exampleAPI, galleryAPI))
			patterns = append(patterns, "./"+dir)
		}
	}
	if len(patterns) < 5 {
		t.Fatalf("found only %d programs", len(patterns))
	}
	config := &gopackages.Config{Mode: gopackages.NeedName | gopackages.NeedImports | gopackages.NeedTypes | gopackages.NeedSyntax | gopackages.NeedTypesInfo | gopackages.NeedExportFile, Overlay: overlay}
	loaded, err := gopackages.Load(config, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range loaded {
		for _, problem := range p.Errors {
			t.Errorf("%s: %s", p.PkgPath, problem)
		}
	}
}
