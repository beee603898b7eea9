package image

import (
	"bytes"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// RootsFile is the file in which programs look for trusted CAs.
const RootsFile = "etc/ssl/certs/ca-certificates.crt"

// Roots returns the CAs that browsers trust, as PEM. They are part of this version of Operon, so that an image does not
// depend on the machine that builds it. CAs that are trusted with restrictions, which a file of certificates cannot express,
// are left out. The PEM certificates in more are added at the end.
func Roots(more []byte) ([]byte, error) {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&all, &pem.Block{Type: certificateBlock, Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return addCertificates(&all, more)
}

const certificateBlock = "CERTIFICATE"

// addCertificates adds the certificates in PEM text, and nothing else, because a file may also contain a private key.
func addCertificates(all *bytes.Buffer, more []byte) ([]byte, error) {
	for {
		block, rest := pem.Decode(more)
		if block == nil {
			break
		}
		if block.Type != certificateBlock {
			return nil, fmt.Errorf("it holds a %s, which does not belong in an image: want only certificates", block.Type)
		}
		if err := pem.Encode(all, &pem.Block{Type: certificateBlock, Bytes: block.Bytes}); err != nil {
			return nil, err
		}
		more = rest
	}
	if len(bytes.TrimSpace(more)) > 0 {
		return nil, fmt.Errorf("it contains something that is not a PEM certificate")
	}
	return all.Bytes(), nil
}
