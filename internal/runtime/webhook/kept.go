package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/operon-framework/operon/internal/core/rotation"
	"github.com/operon-framework/operon/internal/runtime/certificate"
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
	signing *certificate.Authority
	next    *certificate.Authority // nil for none
	since   time.Time              // since when next has been in all bundles; zero if it has not
	former  []*x509.Certificate
	leaf    *tls.Certificate
}

// errNone reports that nothing is stored yet.
var errNone = errors.New("there are no certificates yet")

// readKept reads the stored data and checks that it can be used for hosts. The text of an
// error never contains a key.
func readKept(data map[string][]byte, hosts certificate.Hosts) (*kept, error) {
	if len(data[keyBundle]) == 0 && len(data[keyLeaf]) == 0 {
		return nil, errNone
	}
	authorities, err := certificate.ParseAuthorities(data[keyBundle])
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
	if k.leaf, err = certificate.ParseLeaf(data[keyLeaf], data[keyLeafKey], hosts); err != nil {
		return nil, fmt.Errorf("%s: %w", keyLeaf, err)
	}
	if err := k.leaf.Leaf.CheckSignatureFrom(k.signing.Cert); err != nil {
		return nil, fmt.Errorf("%s is not signed by the CA", keyLeaf)
	}
	return k, nil
}

// take removes the CA of a key from those whose keys are not known, and returns it.
func (k *kept) take(key []byte) (*certificate.Authority, error) {
	parsed, err := certificate.ParseKey(key)
	if err != nil {
		return nil, err
	}
	for i, cert := range k.former {
		if parsed.PublicKey.Equal(cert.PublicKey) {
			k.former = slices.Delete(k.former, i, i+1)
			return &certificate.Authority{Cert: cert, Key: parsed}, nil
		}
	}
	return nil, fmt.Errorf("no certificate in %s has this key", keyBundle)
}

// authorities returns all trusted CAs.
func (k *kept) authorities() []*x509.Certificate {
	all := []*x509.Certificate{k.signing.Cert}
	if k.next != nil {
		all = append(all, k.next.Cert)
	}
	return append(all, k.former...)
}

// data encodes what readKept reads. Every key is always present: a key that an apply omits would stay
// if another replica had applied it.
func (k *kept) data() (map[string][]byte, error) {
	data := map[string][]byte{
		keyBundle: certificate.Encode(k.authorities()...),
		keyLeaf:   certificate.Encode(k.leaf.Leaf),

		keyNextKey: {},
		keySince:   {},
	}
	keys := map[string]any{keyCAKey: k.signing.Key, keyLeafKey: k.leaf.PrivateKey}
	if k.next != nil {
		keys[keyNextKey] = k.next.Key
		data[keySince] = []byte(k.since.UTC().Format(time.RFC3339))
	}
	for name, key := range keys {
		encoded, err := certificate.EncodeKey(key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		data[name] = encoded
	}
	return data, nil
}

// stateOf returns the state that decisions need. wrong is the reason why nothing could be read.
func stateOf(k *kept, wrong error, times rotation.Times) rotation.State {
	if wrong != nil {
		return rotation.State{Wrong: wrong.Error()}
	}
	state := rotation.State{Signing: certificate.Of(k.signing.Cert, times), Leaf: certificate.Of(k.leaf.Leaf, times)}
	state.Leaf.By = state.Signing.ID
	if k.next != nil {
		next := certificate.Of(k.next.Cert, times)
		state.Next, state.Published = &next, k.since
	}
	for _, cert := range k.former {
		state.Former = append(state.Former, certificate.Of(cert, times))
	}
	return state
}

// issuer makes certificates.
type issuer struct{ certificate.Issuer }

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
		after.signing, err = i.Authority(now)
	case rotation.Introduce:
		after.next, err = i.Authority(now)
		return &after, err
	case rotation.Publish:
		after.since = now
		return &after, nil
	case rotation.Promote:
		after.former = append(after.former, after.signing.Cert)
		after.signing, after.next, after.since = after.next, nil, time.Time{}
	case rotation.Drop:
		after.former = slices.DeleteFunc(after.former, func(cert *x509.Certificate) bool {
			return !now.Before(cert.NotAfter.Add(i.Times.Skew))
		})
		return &after, nil
	}
	if err != nil {
		return nil, err
	}
	after.leaf, err = i.Leaf(after.signing, now)
	return &after, err
}
