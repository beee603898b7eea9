package sim

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// registrations is the number of nodes that are registered concurrently.
const registrations = 16

// Restore creates the objects of the simulation that do not exist in the cluster: the nodes, the default StorageClass and its
// driver. Start does this, too. Restore is for a cluster that was emptied after that.
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
