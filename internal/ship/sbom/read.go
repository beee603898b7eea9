package sbom

import (
	"encoding/json"
	"errors"
	"slices"
)

// Described is what a document says about a program.
type Described struct {
	// Digest is the SHA-256 of the program, in hexadecimal.
	Digest string
	// Licenses are the known SPDX expressions by the paths of modules.
	Licenses map[string]string
}

// Read reads a document of Write.
func Read(content []byte) (Described, error) {
	var d document
	if err := json.Unmarshal(content, &d); err != nil {
		return Described{}, err
	}
	found := Described{Licenses: map[string]string{}}
	for _, one := range d.Packages {
		if one.ID == programID {
			if i := slices.IndexFunc(one.Checksums, func(c checksum) bool { return c.Algorithm == algorithm }); i >= 0 {
				found.Digest = one.Checksums[i].Value
			}
			continue
		}
		if one.Declared != noAssertion {
			found.Licenses[one.Name] = one.Declared
		}
	}
	if found.Digest == "" {
		return Described{}, errors.New("the SBOM describes no program")
	}
	return found, nil
}
