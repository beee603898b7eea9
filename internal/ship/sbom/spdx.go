package sbom

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
)

// document is one of SPDX 2.3, with those fields that there is something to say in.
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

// identify names the document by a sum of all that it says: no two documents may share a namespace, and the same one has to come
// out the same wherever it is made.
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

// noAssertion reports that nothing is known: licenses are not guessed.
const noAssertion = "NOASSERTION"

func newPackage(name, version string) pkg {
	return pkg{Name: name, Version: version, Download: noAssertion, License: noAssertion, Declared: noAssertion, Copyright: noAssertion}
}

// refer adds the name by which databases of vulnerabilities know it.
func (p *pkg) refer(purl string) {
	p.References = append(p.References, reference{"PACKAGE-MANAGER", "purl", purl})
}
