// Package live reads Secrets with clients that have no cache.
package live

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type reader struct{ live client.Client }

// Start starts the operator.
func Start(ctx context.Context, config *rest.Config) error {
	if _, err := ctrl.NewManager(config, ctrl.Options{}); err != nil {
		return err
	}
	live, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	if err := live.Get(ctx, client.ObjectKey{Namespace: "default", Name: "password"}, &corev1.Secret{}); err != nil {
		return err
	}
	r := &reader{live: live}
	return r.read(ctx)
}

func (r *reader) read(ctx context.Context) error {
	return r.live.Get(ctx, client.ObjectKey{Namespace: "default", Name: "password"}, &corev1.Secret{})
}
