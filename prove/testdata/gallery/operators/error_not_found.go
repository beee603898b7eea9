package operators

import (
	"context"
	"crypto/rand"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: any error of the read means that there is no password, and a new one is made. A server that
// is busy for a moment costs the password.
var errorNotFound = Operator{
	Name:  "error-not-found",
	About: "treats an unavailable API server as a Secret that does not exist",
	Model: "an error treated as NotFound, in many operators",
	Class: finding.LostUpdate, Property: finding.DataKept, Also: []finding.Property{finding.SameState},
	Both:  "the Secret that it replaces has another content",
	Needs: []Need{Answer}, CRDs: stores, Samples: "config/samples/store.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &doubtingStore{wholeStore{m.GetClient()}, m.GetAPIReader()}
		return run(m, "error-not-found", r, &api.Store{}, storeKinds()...)
	},
}

type doubtingStore struct {
	wholeStore
	live client.Reader
}

func (r *doubtingStore) Reconcile(ctx context.Context, store *api.Store) (ctrl.Result, error) {
	if going(store) {
		return ctrl.Result{}, nil
	}
	secret := &corev1.Secret{ObjectMeta: named(store, "-password")}
	if r.live.Get(ctx, client.ObjectKeyFromObject(secret), secret) != nil {
		if err := r.anew(ctx, store); err != nil {
			return ctrl.Result{}, err
		}
	}
	return r.wholeStore.Reconcile(ctx, store)
}

// anew makes a password, and sees to it that nothing of an old one is in the way.
func (r *doubtingStore) anew(ctx context.Context, store *api.Store) error {
	old := &corev1.Secret{ObjectMeta: named(store, "-password")}
	if err := r.Delete(ctx, old); client.IgnoreNotFound(err) != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: named(store, "-password")}
	secret.Data = map[string][]byte{"password": []byte(rand.Text())}
	if err := controllerutil.SetControllerReference(store, secret, r.Scheme()); err != nil {
		return err
	}
	return r.Create(ctx, secret)
}
