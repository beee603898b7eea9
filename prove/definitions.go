package prove

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/operon-framework/operon/internal/prove/patient"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/internal/tools/kube"
)

// install installs the operator's kinds in the cluster, and records which of them did not exist before.
func (s *session) install(ctx context.Context) error {
	s.admin = patient.Config(s.Config, patient.Session)
	client, err := dynamic.NewForConfig(s.admin)
	if err != nil {
		return err
	}
	for _, definition := range s.CRDs {
		_, err := client.Resource(kube.CRDs).Get(ctx, definition.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			s.brought = append(s.brought, definition.GetName())
		case err != nil:
			return err
		}
	}
	return kube.InstallCRDs(ctx, s.admin, runner.Manager, s.CRDs...)
}

// uninstall removes the kinds that install added from a cluster that is kept. Remaining objects of these kinds are deleted
// with them.
func (s *session) uninstall(ctx context.Context) error {
	if s.Disposable || len(s.brought) == 0 {
		return nil
	}
	client, err := dynamic.NewForConfig(s.admin)
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range s.brought {
		err := client.Resource(kube.CRDs).Delete(ctx, name, metav1.DeleteOptions{})
		if !apierrors.IsNotFound(err) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
