package manifest

import (
	"bytes"
	"go/ast"
	"go/types"
	"os"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// names are the names that code uses.
type names map[string]bool

// namesIn returns everything that the code may be about: the names of types and methods that it uses, and all words in its
// strings and in the files that it embeds. It returns nil if objects may come from somewhere else.
func namesIn(c *rule.Code) names {
	all := names{}
	for _, p := range c.Packages {
		for path := range p.Imports {
			if renders(path) {
				return nil
			}
		}
		for _, file := range p.EmbedFiles {
			content, err := os.ReadFile(file)
			if err != nil || bytes.ContainsRune(content, 0) {
				return nil // an archive, for example
			}
			all.addWords(string(content))
		}
		all.addCode(p)
	}
	return all
}

// renderers are packages that read or render manifests.
var renderers = []string{
	"helm.sh/helm", "sigs.k8s.io/kustomize", "sigs.k8s.io/kubebuilder-declarative-pattern", "github.com/manifestival/manifestival",
	"k8s.io/cli-runtime", "k8s.io/apimachinery/pkg/util/yaml", "k8s.io/apimachinery/pkg/runtime/serializer",
}

func renders(path string) bool {
	for _, one := range renderers {
		if path == one || strings.HasPrefix(path, one+"/") {
			return true
		}
	}
	return false
}

func (n names) addCode(p *packages.Package) {
	for _, object := range p.TypesInfo.Uses {
		switch object.(type) {
		case *types.TypeName:
			n.addType(object.Name())
		case *types.Func:
			n[strings.ToLower(object.Name())] = true // such as Nodes of client-go
		}
	}
	for _, value := range p.TypesInfo.Types {
		t := types.Unalias(value.Type)
		if pointer, ok := t.(*types.Pointer); ok {
			t = types.Unalias(pointer.Elem())
		}
		if named, ok := t.(*types.Named); ok {
			n.addType(named.Obj().Name())
		}
	}
	for _, file := range p.Syntax {
		for node := range ast.Preorder(file) {
			if literal, ok := node.(*ast.BasicLit); ok {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					n.addWords(text)
				}
			}
		}
	}
}

func (n names) addType(name string) {
	n[name] = true
	n[strings.TrimSuffix(name, "List")] = true
	n[strings.TrimSuffix(name, "ApplyConfiguration")] = true
}

func (n names) addWords(text string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n/.,:;\"'", r) }) {
		n[word] = true
	}
}
