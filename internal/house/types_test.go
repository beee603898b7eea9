package house

import (
	"go/ast"
	"testing"
)

// Limits on the types that an operator links: the layers up to the framework.
const (
	maxMethods = 25
	maxFields  = 15
)

// large are types that still exceed the limits, with their numbers of methods and fields. The list only gets shorter: the test
// fails if a type grows, or no longer needs its entry.
var large = map[string][2]int{}

func TestTypesAreSmall(t *testing.T) {
	t.Parallel()
	needed := map[string]bool{}
	for _, p := range sources(t) {
		at, _ := positionOf(p.dir)
		framework, _ := positionOf("")
		if at.module != framework.module || at.layer > framework.layer {
			continue
		}
		methods, fields := map[string]int{}, map[string]int{}
		for _, file := range p.files {
			countMembers(file, methods, fields)
		}
		for name, count := range methods {
			limit := max(maxMethods, large[p.dir+"."+name][0])
			needed[p.dir+"."+name] = needed[p.dir+"."+name] || count > maxMethods
			if count > limit {
				t.Errorf("%s.%s has %d methods, the limit is %d: it does more than one thing", p.dir, name, count, limit)
			}
		}
		for name, count := range fields {
			limit := max(maxFields, large[p.dir+"."+name][1])
			needed[p.dir+"."+name] = needed[p.dir+"."+name] || count > maxFields
			if count > limit {
				t.Errorf("%s.%s has %d fields, the limit is %d: group those that belong together", p.dir, name, count, limit)
			}
		}
	}
	for name := range large {
		if !needed[name] {
			t.Errorf("%s is within the limits now: take it off the list of large types", name)
		}
	}
}

func countMembers(file *ast.File, methods, fields map[string]int) {
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				methods[receiverName(d.Recv.List[0].Type)]++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				named, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				if structure, ok := named.Type.(*ast.StructType); ok {
					fields[named.Name.Name] = fieldCount(structure)
				}
			}
		}
	}
}

func fieldCount(structure *ast.StructType) int {
	count := 0
	for _, field := range structure.Fields.List {
		count += max(len(field.Names), 1)
	}
	return count
}
