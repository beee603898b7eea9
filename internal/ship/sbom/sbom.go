package sbom

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// MediaType is the media type of the documents.
const MediaType = "application/spdx+json"

// Subject is the program that a document describes.
type Subject struct {
	// Name and Version are the name and version of the operator. Version may be empty.
	Name, Version string
	// Digest is the SHA-256 of the program, in hexadecimal.
	Digest string
	// Created is the time of its sources.
	Created time.Time
	// By is the tool that creates the document, as NAME-VERSION.
	By string
	// Info is the build information that the linker added to the program.
	Info *debug.BuildInfo
	// Licenses are SPDX expressions by the paths of modules, as their license files declare them; "" if unknown.
	Licenses map[string]string
	// Packages are the packages of a distribution beside the program.
	Packages []Package
}

// Package is a package of a distribution.
type Package struct {
	// Type is the type and namespace of its package URL, such as deb/debian.
	Type string
	// Name, Version and Architecture are those of the package.
	Name, Version, Architecture string
}

func (p Package) pkg() pkg {
	made := newPackage(p.Name, p.Version)
	made.ID = "SPDXRef-Package-" + unfit.ReplaceAllString(p.Name, "-")
	made.refer(fmt.Sprintf("pkg:%s/%s@%s?arch=%s", p.Type, escaped(p.Name), escaped(p.Version), p.Architecture))
	return made
}

// escaped returns a part of a package URL.
func escaped(text string) string {
	return strings.ReplaceAll(url.PathEscape(text), "+", "%2B") // some tools read a bare + as a space
}

// Write returns the document.
func Write(s Subject) ([]byte, error) {
	if s.Info == nil {
		return nil, fmt.Errorf("%s tells nothing of what it is made of: it was not built by the go command", s.Name)
	}
	program := s.program()
	d := document{
		Version:     "SPDX-2.3",
		DataLicense: "CC0-1.0",
		ID:          "SPDXRef-DOCUMENT",
		Name:        s.Name,
		Creation:    creation{Created: s.Created.UTC().Format(time.RFC3339), Creators: []string{"Tool: " + s.By}},
		Packages:    []pkg{program},
		Relationships: []relationship{
			{"SPDXRef-DOCUMENT", "DESCRIBES", program.ID},
		},
	}
	for _, part := range s.parts() {
		d.Packages = append(d.Packages, part)
		d.Relationships = append(d.Relationships, relationship{program.ID, "CONTAINS", part.ID})
	}
	for _, one := range s.Packages {
		part := one.pkg()
		d.Packages = append(d.Packages, part)
		d.Relationships = append(d.Relationships, relationship{"SPDXRef-DOCUMENT", "DESCRIBES", part.ID})
	}
	if err := d.identify(); err != nil {
		return nil, err
	}
	content, err := json.MarshalIndent(d, "", "  ")
	return append(content, '\n'), err
}

// programID identifies the program in its document, and algorithm is that of its checksum.
const (
	programID = "SPDXRef-Program"
	algorithm = "SHA256"
)

// program returns the package of the program itself.
func (s Subject) program() pkg {
	p := newPackage(s.Name, cmp.Or(s.Version, version(&s.Info.Main)))
	p.ID = programID
	p.Purpose = "APPLICATION"
	p.Checksums = []checksum{{algorithm, s.Digest}}
	return p
}

// parts returns the packages of the program's module, of its dependencies, and of Go's standard library.
func (s Subject) parts() []pkg {
	modules := []*debug.Module{&s.Info.Main}
	modules = append(modules, s.Info.Deps...)
	var parts []pkg
	for _, module := range modules {
		part := modulePackage(module)
		part.Declared = cmp.Or(s.Licenses[module.Path], noAssertion)
		parts = append(parts, part)
	}
	golang := newPackage("stdlib", strings.TrimPrefix(s.Info.GoVersion, "go"))
	golang.refer("pkg:golang/stdlib@" + url.PathEscape(golang.Version))
	golang.ID, golang.Declared = "SPDXRef-Go-stdlib", "BSD-3-Clause"
	return append(parts, golang)
}

func modulePackage(module *debug.Module) pkg {
	p := newPackage(module.Path, version(module))
	p.ID = id(module)
	built := module
	if module.Replace != nil {
		built = module.Replace
		p.Comment = "replaced by " + strings.TrimSpace(built.Path+" "+released(built))
	}
	if module.Replace == nil || released(built) != "" {
		p.refer(purl(built))
	}
	if built.Sum != "" {
		p.Comment = strings.TrimPrefix(p.Comment+"; go.sum has "+built.Sum, "; ")
	}
	return p
}

// version returns the version that was built, or "" for sources without a version.
func version(module *debug.Module) string {
	if module.Replace != nil {
		return released(module.Replace)
	}
	return released(module)
}

func released(module *debug.Module) string {
	if module.Version == "(devel)" {
		return ""
	}
	return module.Version
}

// purl returns the package URL. Its specification requires the paths of Go modules in lower case.
func purl(module *debug.Module) string {
	text := "pkg:golang/" + strings.ReplaceAll(url.PathEscape(strings.ToLower(module.Path)), "%2F", "/")
	if v := released(module); v != "" {
		text += "@" + escaped(v)
	}
	return text
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// id returns a unique ID. A checksum distinguishes paths that differ only in characters that are not allowed in IDs.
func id(module *debug.Module) string {
	sum := sha256.Sum256([]byte(module.Path))
	return "SPDXRef-Module-" + unfit.ReplaceAllString(module.Path, "-") + "-" + hex.EncodeToString(sum[:4])
}
