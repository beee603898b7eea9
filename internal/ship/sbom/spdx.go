package sbom

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
)

// document is an SPDX 2.3 document with the fields that are used.
type document struct {
	Version       string         `json:"spdxVersion"`
	DataLicense   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []pkg          `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

// identify names the document by a checksum of its content: no two documents may share a namespace, and the same document
// must be identical wherever it is created.
func (d *document) identify() error {
	d.Namespace = ""
	content, err := json.Marshal(d)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	d.Namespace = "https://spdx.org/spdxdocs/" + url.PathEscape(d.Name) + "-" + hex.EncodeToString(sum[:])
	return nil
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type pkg struct {
	ID            string      `json:"SPDXID"`
	Name          string      `json:"name"`
	Version       string      `json:"versionInfo,omitempty"`
	Download      string      `json:"downloadLocation"`
	FilesAnalyzed bool        `json:"filesAnalyzed"`
	License       string      `json:"licenseConcluded"`
	Declared      string      `json:"licenseDeclared"`
	Copyright     string      `json:"copyrightText"`
	Purpose       string      `json:"primaryPackagePurpose,omitempty"`
	Checksums     []checksum  `json:"checksums,omitempty"`
	References    []reference `json:"externalRefs,omitempty"`
	Comment       string      `json:"comment,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// noAssertion means that nothing is known: licenses are not guessed.
const noAssertion = "NOASSERTION"

func newPackage(name, version string) pkg {
	return pkg{Name: name, Version: version, Download: noAssertion, License: noAssertion, Declared: noAssertion, Copyright: noAssertion}
}

// refer adds the package URL by which vulnerability databases identify the package.
func (p *pkg) refer(purl string) {
	p.References = append(p.References, reference{"PACKAGE-MANAGER", "purl", purl})
}
