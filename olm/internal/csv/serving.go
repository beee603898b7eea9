package csv

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/runtime/certificate"

	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/olm/internal/serving"
)

// certificates returns the certificates of an operator by Deployment, and declares the permissions of its API servers. Certificates that belong
// to another version now are not changed.
func (c *Composer) certificates(ctx context.Context, n *neighbors, out *operon.Composition, group render.Group, live existing, p *pass) (map[string]render.Certificate, error) {
	if len(n.csv.Spec.WebhookDefinitions)+len(n.csv.Spec.APIServiceDefinitions.Owned) == 0 {
		return nil, nil
	}
	servers, err := render.Servers(n.csv, group)
	if err != nil {
		return nil, err
	}
	var list corev1.SecretList
	if err := out.List(ctx, &list, client.MatchingLabels{render.LabelOwnerNamespace: n.csv.Namespace}); err != nil {
		return nil, err
	}
	stored := map[string]map[string][]byte{}
	for _, one := range list.Items {
		stored[one.Name] = one.Data
	}
	made := map[string]render.Certificate{}
	for _, server := range servers {
		for _, object := range server.Delegation() {
			out.Child(object)
		}
		issuer := serving.Issuer{Issuer: certificate.Issuer{Times: c.times(), Hosts: server.Hosts, Name: server.Deployment}}
		data, key := stored[server.Secret], "Secret/"+server.Secret
		if now, exists := live.objects[key]; live.next[key] || exists && n.ownedBefore(now) {
			one, err := issuer.Read(data)
			if err == nil { // otherwise the version to which it belongs replaces it
				made[server.Deployment] = render.Certificate{Data: one.Data, Bundle: one.Bundle, Hash: one.Hash}
			}
			continue
		}
		one, err := c.certificate(ctx, n, out, server, issuer, data)
		if err != nil {
			return nil, fmt.Errorf("the certificate in Secret %s: %w", server.Secret, err)
		}
		p.record(one)
		made[server.Deployment] = render.Certificate{Data: one.Data, Bundle: one.Bundle, Hash: one.Hash}
	}
	p.conversions = render.Conversions(servers, made)
	if n.handsOver() {
		p.handedKinds = conversionsOf(n.after)
		p.conversions = slices.DeleteFunc(p.conversions, func(one render.Conversion) bool {
			return live.takesOver(one.Deployment) && !slices.Contains(p.handedKinds, one.CRD)
		})
	}
	return made, nil
}

// certificate returns the certificate of a server for now. Before anything is issued, the Secret is read from the API server, so that
// a stale cache does not replace a certificate.
func (c *Composer) certificate(ctx context.Context, n *neighbors, out *operon.Composition, server *render.Server, issuer serving.Issuer, data map[string][]byte) (serving.Certificate, error) {
	var unread error
	carried := func(id string) bool {
		all, err := n.bundles(ctx, out, server)
		unread = err
		for _, bundle := range all {
			if !certificate.Contains(bundle, id) {
				return false
			}
		}
		return err == nil
	}
	made, changed, err := issuer.Decide(data, carried, c.Clock.Now())
	if err != nil || unread != nil || !changed {
		return made, cmp.Or(err, unread)
	}
	secret := &corev1.Secret{}
	err = c.reader.Get(ctx, client.ObjectKey{Namespace: n.csv.Namespace, Name: server.Secret}, secret)
	if client.IgnoreNotFound(err) != nil {
		return made, err
	}
	data = nil
	if n.ours(secret) {
		data = secret.Data
	}
	made, _, err = issuer.Decide(data, carried, c.Clock.Now())
	return made, cmp.Or(err, unread)
}

// bundles returns the CAs that API servers trust for a server, in PEM, from each object that exists.
func (n *neighbors) bundles(ctx context.Context, out *operon.Composition, server *render.Server) ([][]byte, error) {
	var all [][]byte
	for _, object := range server.Entries() {
		found, err := out.Get(ctx, object)
		if err != nil {
			return nil, err
		}
		if !found {
			continue // it will have the CA when it is created
		}
		switch object := object.(type) {
		case *admissionv1.ValidatingWebhookConfiguration:
			for _, one := range object.Webhooks {
				all = append(all, one.ClientConfig.CABundle)
			}
		case *admissionv1.MutatingWebhookConfiguration:
			for _, one := range object.Webhooks {
				all = append(all, one.ClientConfig.CABundle)
			}
		case *apiregistrationv1.APIService:
			all = append(all, object.Spec.CABundle)
		case *apiextensionsv1.CustomResourceDefinition:
			if to := clientOf(object); to != nil {
				all = append(all, to.CABundle)
			}
		}
	}
	return all, nil
}

// record adds a certificate to the times in the status.
func (p *pass) record(one serving.Certificate) {
	if p.issued.Before(one.Issued) {
		p.issued = one.Issued
	}
	p.rotateAt, p.again = earlier(p.rotateAt, one.RotateAt), earlier(p.again, one.Again)
}

// earlier returns the earlier of two times. The zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// timeOf returns a time as it is in a status, or nil for the zero time.
func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	at := metav1.NewTime(t).Rfc3339Copy()
	return &at
}

// foreignAPIs returns which API of the operator is served already, by something else.
func (n *neighbors) foreignAPIs(ctx context.Context, out *operon.Composition) (phase.Problem, error) {
	for _, one := range n.csv.Spec.APIServiceDefinitions.Owned {
		live := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: one.Version + "." + one.Group}}
		live.SetGroupVersionKind(apiregistrationv1.SchemeGroupVersion.WithKind("APIService"))
		found, err := out.Get(ctx, live)
		if err != nil {
			return phase.Problem{}, err
		}
		if labels := live.GetLabels(); found && (labels[render.LabelOwnerKind] == "" || labels[render.LabelOwnerNamespace] != n.csv.Namespace) {
			return phase.Problem{Reason: phase.ReasonOwnerConflict, Message: fmt.Sprintf(
				"owner conflict: APIService %s exists and was not made for an operator of this namespace: a CustomResourceDefinition or another API server provides it", live.Name)}, nil
		}
	}
	return phase.Problem{}, nil
}
