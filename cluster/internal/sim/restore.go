package sim

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// registrations is how many nodes are registered at a time.
const registrations = 16

// Restore creates what the simulation brings along and the cluster lacks: the nodes, the
// default StorageClass and its driver. Start does it, too; it is for a cluster that has
// been emptied since.
func (s *Sim) Restore(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(registrations)
	group.Go(func() error {
		_, err := s.client.StorageV1().StorageClasses().Create(ctx, storageClass(), metav1.CreateOptions{})
		return unlessExists("StorageClass "+StorageClass, err)
	})
	group.Go(func() error {
		_, err := s.client.StorageV1().CSIDrivers().Create(ctx, csiDriver(), metav1.CreateOptions{})
		return unlessExists("CSIDriver "+volumeDriver, err)
	})
	for _, name := range nodeNames(s.cfg.Nodes) {
		group.Go(func() error {
			_, err := s.client.CoreV1().Nodes().Create(ctx, s.newNode(name), metav1.CreateOptions{})
			return unlessExists("node "+name, err)
		})
	}
	return group.Wait()
}

func unlessExists(what string, err error) error {
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return fmt.Errorf("create %s: %w", what, err)
}
