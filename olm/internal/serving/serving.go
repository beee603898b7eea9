// Package serving issues the certificate with which a Service of an operator serves webhooks and API services, and rotates it without a
// moment at which API servers do not trust it. It has no client and no clock.
//
// Each certificate has a CA of its own, whose key is not stored: the CA signs once. What is issued next is issued together with its CA, in
// advance, and served when API servers know that CA. See package rotation for the order.
package serving

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/internal/core/rotation"
	"github.com/operon-framework/operon/internal/runtime/certificate"
)

// Keys of the Secret. The first three are those of the Operator Lifecycle Manager.
const (
	keyLeaf     = corev1.TLSCertKey
	keyLeafKey  = corev1.TLSPrivateKeyKey
	keyCA       = "olmCAKey" // a certificate, despite its name
	keyNextLeaf = "next-tls.crt"
	keyNextKey  = "next-tls.key"
	keyNextCA   = "next-ca.crt"
	keySince    = "next-ca.since" // since when it is in all bundles
	keyFormer   = "former-ca.crt"
)

const year = 365 * 24 * time.Hour

// DefaultTimes are the lifetimes of certificates. A certificate lives as long as its CA.
var DefaultTimes = rotation.Times{CA: 2 * year, Leaf: 2 * year, Settle: 5 * time.Minute, Skew: time.Hour}

// Certificate is the certificate of a Service.
type Certificate struct {
	// Data is the content of the Secret.
	Data map[string][]byte
	// Bundle are the CAs that API servers have to trust, in PEM.
	Bundle []byte
	// Hash identifies the CA of the certificate that is served.
	Hash string
	// Issued is when the certificate was issued, and RotateAt when the next one will be. Again is when to decide again.
	Issued, RotateAt, Again time.Time
}

// Issuer issues the certificates of a Service.
type Issuer struct{ certificate.Issuer }

// Decide returns the certificate for a time, given the content of the Secret, and whether something was issued or changed. carried reports
// whether API servers know the CA with an ID. It is only called during a rotation.
func (i Issuer) Decide(data map[string][]byte, carried func(id string) bool, now time.Time) (Certificate, bool, error) {
	k, wrong := read(data, i.Hosts)
	for turn := 0; ; turn++ {
		decision := rotation.Decide(i.Times, stateOf(k, wrong, i.Times), carried, now)
		if decision.Do == rotation.Nothing {
			made, err := i.certificate(k)
			made.Again = decision.Again
			return made, turn > 0, err
		}
		if turn == maxTurns {
			return Certificate{}, false, fmt.Errorf("the certificate is not settled after %d decisions, the last one to %s: %s", turn, decision.Do, decision.Why)
		}
		after, err := i.carryOut(decision.Do, k, now)
		if err != nil {
			return Certificate{}, false, err
		}
		k, wrong = after, nil
	}
}

// maxTurns limits the number of decisions at one time. Three are usual after a long time.
const maxTurns = 8

// Read returns the certificate in the content of a Secret as it is.
func (i Issuer) Read(data map[string][]byte) (Certificate, error) {
	k, err := read(data, i.Hosts)
	if err != nil {
		return Certificate{}, err
	}
	return i.certificate(k)
}

func (i Issuer) certificate(k *kept) (Certificate, error) {
	data, err := k.data()
	sum := sha256.Sum256(data[keyCA])
	leaf := certificate.Of(k.leaf.Leaf, i.Times)
	return Certificate{
		Data: data, Bundle: certificate.Encode(k.authorities()...), Hash: hex.EncodeToString(sum[:]),
		Issued: leaf.Issued, RotateAt: leaf.Issued.Add(leaf.Expires.Sub(leaf.Issued) / 3 * 2),
	}, err
}

// pair is a certificate with its CA.
type pair struct {
	ca   *x509.Certificate
	leaf *tls.Certificate
}

// kept is the content of a Secret.
type kept struct {
	pair
	next   *pair
	since  time.Time // since when all bundles have the CA of next; zero if they do not
	former []*x509.Certificate
}

var errNone = errors.New("there is no certificate yet")

func read(data map[string][]byte, hosts certificate.Hosts) (*kept, error) {
	if len(data[keyLeaf]) == 0 {
		return nil, errNone
	}
	own, err := readPair(data, keyCA, keyLeaf, keyLeafKey, hosts)
	if err != nil {
		return nil, err
	}
	k := &kept{pair: *own}
	if len(data[keyNextLeaf]) > 0 {
		if k.next, err = readPair(data, keyNextCA, keyNextLeaf, keyNextKey, hosts); err != nil {
			return nil, err
		}
		k.since, _ = time.Parse(time.RFC3339, string(data[keySince])) // a time that cannot be read is determined again
	}
	if len(data[keyFormer]) > 0 {
		k.former, err = certificate.ParseAuthorities(data[keyFormer])
	}
	return k, err
}

func readPair(data map[string][]byte, ca, leaf, key string, hosts certificate.Hosts) (*pair, error) {
	authorities, err := certificate.ParseAuthorities(data[ca])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ca, err)
	}
	read := &pair{ca: authorities[0]}
	if read.leaf, err = certificate.ParseLeaf(data[leaf], data[key], hosts); err != nil {
		return nil, fmt.Errorf("%s: %w", leaf, err)
	}
	if read.leaf.Leaf.CheckSignatureFrom(read.ca) != nil {
		return nil, fmt.Errorf("%s is not signed by the CA in %s", leaf, ca)
	}
	return read, nil
}

// data encodes what read reads.
func (k *kept) data() (map[string][]byte, error) {
	data := map[string][]byte{}
	if err := k.write(data, keyCA, keyLeaf, keyLeafKey); err != nil {
		return nil, err
	}
	if k.next != nil {
		if err := k.next.write(data, keyNextCA, keyNextLeaf, keyNextKey); err != nil {
			return nil, err
		}
		data[keySince] = []byte(k.since.UTC().Format(time.RFC3339))
	}
	if len(k.former) > 0 {
		data[keyFormer] = certificate.Encode(k.former...)
	}
	return data, nil
}

func (p *pair) write(data map[string][]byte, ca, leaf, key string) (err error) {
	data[ca], data[leaf] = certificate.Encode(p.ca), certificate.Encode(p.leaf.Leaf)
	data[key], err = certificate.EncodeKey(p.leaf.PrivateKey)
	return err
}

// authorities returns all trusted CAs.
func (k *kept) authorities() []*x509.Certificate {
	all := []*x509.Certificate{k.ca}
	if k.next != nil {
		all = append(all, k.next.ca)
	}
	return append(all, k.former...)
}

// stateOf returns the state that decisions need. wrong is the reason why nothing could be read.
func stateOf(k *kept, wrong error, times rotation.Times) rotation.State {
	if wrong != nil {
		return rotation.State{Wrong: wrong.Error()}
	}
	state := rotation.State{Signing: certificate.Of(k.ca, times), Leaf: certificate.Of(k.leaf.Leaf, times)}
	state.Leaf.By = state.Signing.ID
	if k.next != nil {
		next := certificate.Of(k.next.ca, times)
		state.Next, state.Published = &next, k.since
	}
	for _, cert := range k.former {
		state.Former = append(state.Former, certificate.Of(cert, times))
	}
	return state
}

// carryOut returns what to store after a decision.
func (i Issuer) carryOut(do rotation.Action, before *kept, now time.Time) (*kept, error) {
	if do == rotation.Make {
		made, err := i.pair(now)
		if err != nil {
			return nil, err
		}
		return &kept{pair: *made}, nil
	}
	after := *before
	switch do {
	case rotation.Introduce:
		var err error
		after.next, err = i.pair(now)
		return &after, err
	case rotation.Publish:
		after.since = now
	case rotation.Promote:
		after.former = append(slices.Clone(before.former), before.ca)
		after.pair, after.next, after.since = *before.next, nil, time.Time{}
	case rotation.Drop:
		after.former = slices.DeleteFunc(slices.Clone(before.former), func(cert *x509.Certificate) bool {
			return !now.Before(cert.NotAfter.Add(i.Times.Skew))
		})
	default: // a certificate lives as long as its CA, so none is renewed alone
		return nil, fmt.Errorf("a certificate cannot %s", do)
	}
	return &after, nil
}

// pair issues a certificate with its CA. The key of the CA is dropped.
func (i Issuer) pair(now time.Time) (*pair, error) {
	by, err := i.Authority(now)
	if err != nil {
		return nil, err
	}
	leaf, err := i.Leaf(by, now)
	return &pair{by.Cert, leaf}, err
}
