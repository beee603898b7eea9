package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
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
		return unlessExists("CSIDriver "+VolumeDriver, err)
	})
	group.Go(func() error { return s.restoreNodes(ctx) })
	return group.Wait()
}

// restoreNodes creates the missing nodes. A retained state may be from a cluster with another kind of node, so it also sets or
// removes the taint of existing ones. A new cluster, which has none, is not queried for them.
func (s *Sim) restoreNodes(ctx context.Context) error {
	var exist atomic.Bool
	group, creating := errgroup.WithContext(ctx)
	group.SetLimit(registrations)
	for _, name := range nodeNames(s.cfg.Nodes) {
		group.Go(func() error {
			_, err := s.client.CoreV1().Nodes().Create(creating, s.newNode(name), metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				exist.Store(true)
			}
			return unlessExists("node "+name, err)
		})
	}
	if err := group.Wait(); err != nil || !exist.Load() && !s.cfg.Tainted {
		return err
	}
	list, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range list.Items {
		if node.Labels[NodeLabel] != "true" {
			s.nodes.settle(node.Name) // a user removed the label: it is not simulated
		} else if slices.ContainsFunc(node.Spec.Taints, isTaint) != s.cfg.Tainted {
			err = errors.Join(err, s.retaint(ctx, node.Name))
		}
	}
	return err
}

// retaint sets or removes Taint, and keeps other taints, which controllers may change at the same time.
func (s *Sim) retaint(ctx context.Context, name string) error {
	nodes := s.client.CoreV1().Nodes()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isTaint)
		if s.cfg.Tainted {
			node.Spec.Taints = append(node.Spec.Taints, Taint())
		}
		_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("taint node %s: %w", name, err)
	}
	return nil
}

// Taint returns the taint that keeps pods off simulated nodes unless they tolerate it.
func Taint() corev1.Taint {
	return corev1.Taint{Key: NodeLabel, Value: "true", Effect: corev1.TaintEffectNoSchedule}
}

func isTaint(taint corev1.Taint) bool { return taint.MatchTaint(new(Taint())) }

func unlessExists(what string, err error) error {
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return fmt.Errorf("create %s: %w", what, err)
}
