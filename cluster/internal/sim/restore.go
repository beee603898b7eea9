package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// registrations is the number of nodes that are registered concurrently.
const registrations = 16

// Restore creates the objects of the simulation that do not exist in the cluster: the nodes, the default StorageClass and its
// driver. Start does this, too. Restore is for a cluster that was emptied after that. It returns the names of the nodes of Config
// that are simulated.
func (s *Sim) Restore(ctx context.Context) (names sets.Set[string], err error) {
	names = sets.New(nodeNames(s.cfg.Nodes)...)
	group, creating := errgroup.WithContext(ctx)
	group.SetLimit(registrations)
	group.Go(func() error {
		_, err := s.client.StorageV1().StorageClasses().Create(creating, storageClass(), metav1.CreateOptions{})
		return unlessExists("StorageClass "+StorageClass, err)
	})
	group.Go(func() error {
		_, err := s.client.StorageV1().CSIDrivers().Create(creating, csiDriver(), metav1.CreateOptions{})
		return unlessExists("CSIDriver "+volumeDriver, err)
	})
	for name := range names {
		group.Go(func() error {
			_, err := s.client.CoreV1().Nodes().Create(creating, s.newNode(name), metav1.CreateOptions{})
			return unlessExists("node "+name, err)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	// Existing nodes may be from a cluster with another kind of node.
	list, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range list.Items {
		if node.Labels[NodeLabel] != "true" {
			names.Delete(node.Name) // a user removed the label
			continue
		}
		if !ownName.MatchString(node.Name) {
			continue // a user added it
		}
		if err := s.retaint(ctx, node); err != nil {
			return nil, fmt.Errorf("taint node %s: %w", node.Name, err)
		}
	}
	return names, nil
}

// ownName matches the names that nodeNames returns. Users may add other simulated nodes, whose taints are theirs.
var ownName = regexp.MustCompile(`^node-[0-9]+$`)

// taint keeps pods off simulated nodes unless they tolerate it.
var taint = corev1.Taint{Key: NodeLabel, Value: "true", Effect: corev1.TaintEffectNoSchedule}

// retaint adds or removes the taint of an existing node.
func (s *Sim) retaint(ctx context.Context, node corev1.Node) error {
	others := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
	if tainted := len(others) < len(node.Spec.Taints); tainted == s.cfg.Tainted {
		return nil
	}
	if s.cfg.Tainted {
		others = append(others, taint)
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": others}})
	if err == nil {
		_, err = s.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return err
}

func unlessExists(what string, err error) error {
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return fmt.Errorf("create %s: %w", what, err)
}
