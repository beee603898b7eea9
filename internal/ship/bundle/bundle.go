package bundle

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Bundle is one version of an operator. All fields that could be read are set, even if there are problems.
type Bundle struct {
	// Dir is the directory as passed by the caller.
	Dir string
	// FromImage is the image from which it was read, or empty.
	FromImage string
	// Package is the name of the package, and Channels are the channels that offer this version. In the older layout, the package
	// has them.
	Package        string
	Channels       []string
	DefaultChannel string
	// Object is the CSV in the manifest, and CSV its decoded fields. They are nil if the bundle has no CSV.
	Object *project.Object
	CSV    *CSV
	// CRDs are the CustomResourceDefinitions, and Others the other objects.
	CRDs   []*CRD
	Others []project.Object
	// Dependencies are the entries of metadata/dependencies.yaml.
	Dependencies []Dependency
	// Properties are the entries of metadata/properties.yaml.
	Properties []Property
	// Problems are the reasons why the bundle could not be read, or not completely.
	Problems []Problem

	annotations *annotations // nil in the older layout
	labels      map[string]string
	size        int64
	// manifests and metadata are the contents of files by name. The names in manifests are for users, and the names in
	// metadata are relative to the bundle.
	manifests, metadata map[string][]byte
}

// CRD is a CustomResourceDefinition of a bundle.
type CRD struct {
	project.Object
	// Typed is the definition in apiextensions.k8s.io/v1. It is nil if the definition cannot be decoded.
	Typed *apiextensionsv1.CustomResourceDefinition
	// Converted lists what changed in the conversion from v1beta1. It is empty for a definition in v1.
	Converted []string

	packed []byte // Typed, in a light bundle
}

// Problem is an error at a place in a file.
type Problem struct {
	At      rule.Place
	Message string
}

func (p Problem) Error() string { return fmt.Sprintf("%s: %s", p.At, p.Message) }

// problem adds a problem.
func (b *Bundle) problem(file string, line int, format string, values ...any) {
	b.Problems = append(b.Problems, Problem{rule.Place{File: file, Line: max(line, 1), Column: 1}, fmt.Sprintf(format, values...)})
}

// Name returns the name of the CSV, or the directory.
func (b *Bundle) Name() string {
	if b.CSV == nil {
		return b.Dir
	}
	return b.CSV.Name
}

// Registry reports whether the bundle has the layout registry+v1.
func (b *Bundle) Registry() bool { return b.annotations != nil }

// at returns the place of a field of the CSV.
func (b *Bundle) at(path string) rule.Place { return rule.At(*b.Object, path) }

// definition returns the definition of the bundle with a name, or nil.
func (b *Bundle) definition(name string) *CRD {
	for _, crd := range b.CRDs {
		if crd.GetName() == name {
			return crd
		}
	}
	return nil
}
