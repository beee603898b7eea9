package webhook

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/operon-framework/operon/internal/core/rotation"
)

// Keys of the Secret. The first three are the names that other tools use, too.
const (
	keyBundle  = "ca.crt" // all trusted CAs, the signing one first
	keyLeaf    = "tls.crt"
	keyLeafKey = "tls.key"
	keyCAKey   = "ca.key"
	keyNextKey = "next-ca.key"
	keySince   = "next-ca.since" // since when it is in all bundles
)

// kept is the data that all replicas share.
type kept struct {
	signing *authority
	next    *authority // nil for none
	since   time.Time  // since when next has been in all bundles; zero if it has not
	former  []*x509.Certificate
	leaf    *tls.Certificate
}

// errNone reports that nothing is stored yet.
var errNone = errors.New("there are no certificates yet")

// readKept reads the stored data and checks that it can be used for a host. The text of an
// error never contains a key.
func readKept(data map[string][]byte, h host) (*kept, error) {
	if len(data[keyBundle]) == 0 && len(data[keyLeaf]) == 0 {
		return nil, errNone
	}
	authorities, err := parseCertificates(data[keyBundle])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", keyBundle, err)
	}
	k := &kept{former: authorities}
	if k.signing, err = k.take(data[keyCAKey]); err != nil {
		return nil, fmt.Errorf("%s: %w", keyCAKey, err)
	}
	if len(data[keyNextKey]) > 0 {
		if k.next, err = k.take(data[keyNextKey]); err != nil {
			return nil, fmt.Errorf("%s: %w", keyNextKey, err)
		}
		k.since, _ = time.Parse(time.RFC3339, string(data[keySince])) // a time that cannot be read is determined again
	}
	if k.leaf, err = readLeaf(data[keyLeaf], data[keyLeafKey], h); err != nil {
		return nil, err
	}
	if err := k.leaf.Leaf.CheckSignatureFrom(k.signing.cert); err != nil {
		return nil, fmt.Errorf("%s is not signed by the CA", keyLeaf)
	}
	return k, nil
}

// take removes the CA of a key from those whose keys are not known, and returns it.
func (k *kept) take(key []byte) (*authority, error) {
	parsed, err := parseKey(key)
	if err != nil {
		return nil, err
	}
	for i, cert := range k.former {
		if parsed.PublicKey.Equal(cert.PublicKey) {
			k.former = slices.Delete(k.former, i, i+1)
			return &authority{cert: cert, key: parsed}, nil
		}
	}
	return nil, fmt.Errorf("no certificate in %s has this key", keyBundle)
}

// readLeaf reads a certificate with its key.
func readLeaf(cert, key []byte, h host) (*tls.Certificate, error) {
	leaf, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s do not match: %w", keyLeaf, keyLeafKey, err)
	}
	if err := h.covered(leaf.Leaf); err != nil {
		return nil, fmt.Errorf("%s: %w", keyLeaf, err)
	}
	return &leaf, nil
}

// parseCertificates parses one or more CA certificates.
func parseCertificates(data []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		if !cert.IsCA {
			return nil, errors.New("there is a certificate of no CA in it")
		}
		all = append(all, cert)
	}
	if len(all) == 0 {
		return nil, errors.New("there is no certificate in it")
	}
	return all, nil
}

func parseKey(data []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("there is no key in it")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("it contains no PKCS #8 key")
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("its key is of another kind than ECDSA")
	}
	return key, nil
}

// authorities returns all trusted CAs.
func (k *kept) authorities() []*x509.Certificate {
	all := []*x509.Certificate{k.signing.cert}
	if k.next != nil {
		all = append(all, k.next.cert)
	}
	return append(all, k.former...)
}

// data encodes what readKept reads. Every key is always present: a key that an apply omits would stay
// if another replica had applied it.
func (k *kept) data() (map[string][]byte, error) {
	data := map[string][]byte{
		keyBundle: encode(k.authorities()...),
		keyLeaf:   encode(k.leaf.Leaf),

		keyNextKey: {},
		keySince:   {},
	}
	keys := map[string]any{keyCAKey: k.signing.key, keyLeafKey: k.leaf.PrivateKey}
	if k.next != nil {
		keys[keyNextKey] = k.next.key
		data[keySince] = []byte(k.since.UTC().Format(time.RFC3339))
	}
	for name, key := range keys {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		data[name] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	return data, nil
}

// encode encodes certificates in the format that API servers read.
func encode(certs ...*x509.Certificate) []byte {
	var all bytes.Buffer
	for _, cert := range certs {
		all.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
	}
	return all.Bytes()
}

// stateOf returns the state that decisions need. wrong is the reason why nothing could be read.
func stateOf(k *kept, wrong error, times rotation.Times) rotation.State {
	if wrong != nil {
		return rotation.State{Wrong: wrong.Error()}
	}
	state := rotation.State{Signing: certificateOf(k.signing.cert, times), Leaf: certificateOf(k.leaf.Leaf, times)}
	state.Leaf.By = state.Signing.ID
	if k.next != nil {
		next := certificateOf(k.next.cert, times)
		state.Next, state.Published = &next, k.since
	}
	for _, cert := range k.former {
		state.Former = append(state.Former, certificateOf(cert, times))
	}
	return state
}

// carryOut returns the data to store after a decision. The data stored before is not changed.
func (i issuer) carryOut(do rotation.Action, before *kept, now time.Time) (*kept, error) {
	var after kept
	if before != nil {
		after = *before
		after.former = slices.Clone(before.former)
	}
	var err error
	switch do {
	case rotation.Make:
		after = kept{}
		after.signing, err = i.authority(now)
	case rotation.Introduce:
		after.next, err = i.authority(now)
		return &after, err
	case rotation.Publish:
		after.since = now
		return &after, nil
	case rotation.Promote:
		after.former = append(after.former, after.signing.cert)
		after.signing, after.next, after.since = after.next, nil, time.Time{}
	case rotation.Drop:
		after.former = slices.DeleteFunc(after.former, func(cert *x509.Certificate) bool {
			return !now.Before(cert.NotAfter.Add(i.times.Skew))
		})
		return &after, nil
	}
	if err != nil {
		return nil, err
	}
	after.leaf, err = i.leaf(after.signing, now)
	return &after, err
}
