package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"

	"github.com/operon-framework/operon/internal/core/rotation"
	"github.com/operon-framework/operon/internal/runtime/certificate"
)

// certificates are the leaf that is served at a time, and the CAs that are trusted for it.
type certificates struct {
	leaf   *tls.Certificate
	bundle []*x509.Certificate
	// adds means that others may have added certificates to a bundle that are not known here.
	adds bool
	// again is when the certificates may change.
	again time.Time
}

// source is a source of certificates.
type source interface {
	// current returns the certificates to serve now. more reports that something was done, and that the caller has to
	// call it again; the leaf is usable already then, if there is one.
	current(ctx context.Context, carried func(id string) bool, now time.Time) (c certificates, more bool, err error)
}

// own is the operator's own CA.
type own struct {
	issuer
	store store
	log   logr.Logger
}

// current implements source: it decides, and executes the decision.
func (o *own) current(ctx context.Context, carried func(string) bool, now time.Time) (certificates, bool, error) {
	data, version, err := o.store.load(ctx)
	if err != nil {
		return certificates{}, false, err
	}
	before, wrong := readKept(data, o.Hosts)
	decision := rotation.Decide(o.Times, stateOf(before, wrong, o.Times), carried, now)
	if decision.Do == rotation.Nothing {
		return certificates{leaf: before.leaf, bundle: before.authorities(), again: decision.Again}, false, nil
	}
	after, err := o.carryOut(decision.Do, before, now)
	if err != nil {
		return certificates{}, false, err
	}
	if data, err = after.data(); err != nil {
		return certificates{}, false, err
	}
	if err := o.store.save(ctx, data, version); err != nil {
		return certificates{}, false, err
	}
	o.log.Info("certificates of webhooks", "done", decision.Do, "why", decision.Why, "expires", after.leaf.Leaf.NotAfter)
	if decision.Do == rotation.Make {
		return certificates{}, true, nil // its CA is in no bundle yet
	}
	return certificates{leaf: after.leaf}, true, nil
}

// files are certificates that another tool writes into a directory and renews there, with the file names of
// cert-manager: tls.crt, tls.key and ca.crt.
type files struct {
	folder string
	hosts  certificate.Hosts
	served *tls.Certificate // the leaf of the last turn, or nil
}

// current implements source.
func (f *files) current(_ context.Context, carried func(string) bool, now time.Time) (certificates, bool, error) {
	read := map[string][]byte{}
	for _, name := range []string{keyLeaf, keyLeafKey, keyBundle} {
		content, err := os.ReadFile(filepath.Join(f.folder, name))
		if err != nil {
			return certificates{}, false, fmt.Errorf("certificates of webhooks: %w", err)
		}
		read[name] = content
	}
	leaf, err := certificate.ParseLeaf(read[keyLeaf], read[keyLeafKey], f.hosts)
	if err != nil {
		return certificates{}, false, fmt.Errorf("certificates of webhooks in %s: %s: %w", f.folder, keyLeaf, err)
	}
	bundle, err := certificate.ParseCertificates(read[keyBundle])
	if err != nil {
		return certificates{}, false, fmt.Errorf("certificates of webhooks in %s: %s: %w", f.folder, keyBundle, err)
	}
	if now.After(leaf.Leaf.NotAfter) {
		err = errors.Join(err, fmt.Errorf("certificates of webhooks in %s: %s has expired at %s: it was not renewed", f.folder, keyLeaf, leaf.Leaf.NotAfter))
	}
	if f.served == nil || now.After(f.served.Leaf.NotAfter) || isTrusted(leaf, bundle, carried, now) {
		f.served = leaf
	}
	leaf = f.served
	return certificates{leaf: leaf, bundle: bundle, adds: true, again: now.Add(timing.lookEvery)}, false, err
}

// isTrusted reports whether API servers know a CA that a leaf is verified by: a renewed leaf may come with a new CA, and API servers reject it
// until the registrations carry that.
func isTrusted(leaf *tls.Certificate, bundle []*x509.Certificate, carried func(id string) bool, now time.Time) bool {
	options := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	for _, cert := range bundle {
		if carried(certificate.ID(cert)) {
			options.Roots.AddCert(cert)
		}
	}
	for _, der := range leaf.Certificate[1:] {
		if cert, err := x509.ParseCertificate(der); err == nil {
			options.Intermediates.AddCert(cert)
		}
	}
	_, err := leaf.Leaf.Verify(options)
	return err == nil
}

// with adds to a bundle the certificates of another one that have not expired: replicas do not see new files
// at the same moment, and none may remove a certificate that another one needs.
func with(bundle []*x509.Certificate, other []byte, now time.Time) []*x509.Certificate {
	known := map[string]bool{}
	for _, cert := range bundle {
		known[certificate.ID(cert)] = true
	}
	others, err := certificate.ParseCertificates(other)
	if err != nil {
		return bundle
	}
	for _, cert := range others {
		if !known[certificate.ID(cert)] && now.Before(cert.NotAfter) {
			bundle = append(bundle, cert)
		}
	}
	return bundle
}
