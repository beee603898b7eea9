package catalogs

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn/kubernetes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/ship/image/pulled"
)

// Connect gives the catalogs a connection, for the objects that name them, and for Secrets with credentials. Secrets are read when they are
// needed, and not kept.
func (c *Catalogs) Connect(manager ctrl.Manager) error {
	c.reader, c.objects = manager.GetAPIReader(), manager.GetClient()
	return nil
}

// images returns the images as a CatalogSource may fetch them.
func (c *Catalogs) images(ctx context.Context, from origin) (*pulled.Store, error) {
	if len(from.Secrets) == 0 {
		return c.Images, nil
	}
	var all []corev1.Secret
	for i, name := range from.Secrets {
		secret := corev1.Secret{}
		err := c.reader.Get(ctx, client.ObjectKey{Namespace: from.of.Namespace, Name: name}, &secret)
		switch {
		case apierrors.IsNotFound(err):
			return nil, fmt.Errorf("spec.secrets[%d]: the Secret %s does not exist in the namespace %s", i, name, from.of.Namespace)
		case err != nil:
			return nil, fmt.Errorf("spec.secrets[%d]: %w", i, err)
		case secret.Type != corev1.SecretTypeDockerConfigJson && secret.Type != corev1.SecretTypeDockercfg:
			return nil, fmt.Errorf("spec.secrets[%d]: the Secret %s has the type %q: create it with kubectl create secret docker-registry", i, name, secret.Type)
		}
		all = append(all, secret)
	}
	credentials, err := kubernetes.NewFromPullSecrets(ctx, all)
	if err != nil { // without its content
		return nil, fmt.Errorf("spec.secrets: one of the Secrets %v does not have the credentials of registries in the form of Docker's configuration", from.Secrets)
	}
	return c.Images.For(from.of.Namespace, credentials), nil
}
