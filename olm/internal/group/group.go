// Package group manages OperatorGroups: it finds the namespaces that they select, by name or by label, and reports groups that no operator
// can use. The operators of a group read its status.
package group

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/olm/api/v1"
)

// Conditions of an OperatorGroup. They only exist while they are true.
const (
	ConditionMultiple       = "MultipleOperatorGroup"
	ConditionServiceAccount = "OperatorGroupServiceAccount"
)

// Composer manages OperatorGroups.
type Composer struct{ Clock clock.PassiveClock }

// Compose implements operon.Composer. A group has no children.
func (Composer) Compose(_ context.Context, group *v1.OperatorGroup, out *operon.Composition) error {
	if selector := group.Spec.Selector; selector != nil && len(group.Spec.TargetNamespaces) == 0 {
		if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
			out.Fail("InvalidSelector", fmt.Sprintf("spec.selector: %v", err))
		}
	}
	return nil
}

// Observe implements operon.Observer.
func (c Composer) Observe(ctx context.Context, group *v1.OperatorGroup, seen *operon.Observed) error {
	namespaces, err := selected(ctx, group, seen)
	if err != nil {
		return err
	}
	if !slices.Equal(namespaces, group.Status.Namespaces) || group.Status.LastUpdated == nil {
		now := metav1.NewTime(c.Clock.Now()).Rfc3339Copy()
		group.Status.Namespaces, group.Status.LastUpdated = namespaces, &now
	}
	if err := c.account(ctx, group, seen); err != nil {
		return err
	}
	all, err := In(ctx, seen, group.Namespace)
	if err != nil {
		return err
	}
	c.set(group, ConditionMultiple, len(all) > 1, "MultipleOperatorGroupsFound", "there are multiple operatorgroups in the namespace: delete all but one of "+Names(all))
	return nil
}

// reader is what a composer and an observer have in common.
type reader interface {
	List(ctx context.Context, list client.ObjectList, labels client.MatchingLabels, options ...client.ListOption) error
}

// In returns the OperatorGroups in a namespace.
func In(ctx context.Context, reader reader, namespace string) ([]v1.OperatorGroup, error) {
	var list v1.OperatorGroupList
	err := reader.List(ctx, &list, nil, client.InNamespace(namespace), operon.Everything, operon.SharedCache)
	return list.Items, err
}

// Absent returns the namespaces of a group that do not exist, or are being deleted.
func Absent(ctx context.Context, out *operon.Composition, group *v1.OperatorGroup) ([]string, error) {
	var absent []string
	for _, name := range group.Status.Namespaces {
		if name == metav1.NamespaceAll {
			continue
		}
		namespace := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		found, err := out.Get(ctx, namespace)
		if err != nil {
			return nil, err
		}
		if !found || namespace.DeletionTimestamp != nil {
			absent = append(absent, name)
		}
	}
	return absent, nil
}

// Names returns the names of groups in a sentence.
func Names(all []v1.OperatorGroup) string {
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// NoAccount returns why operators of a group whose ServiceAccount does not exist are refused. It may still have permissions, as all ServiceAccounts.
func NoAccount(group *v1.OperatorGroup) string {
	return fmt.Sprintf("the ServiceAccount %s does not exist: create it, or correct spec.serviceAccountName of the OperatorGroup %s", group.Spec.ServiceAccountName, group.Name)
}

// selected returns the namespaces that a group selects, in order. One empty name stands for all.
func selected(ctx context.Context, group *v1.OperatorGroup, seen *operon.Observed) ([]string, error) {
	if named := group.Spec.TargetNamespaces; len(named) > 0 {
		return slices.Compact(slices.Sorted(slices.Values(named))), nil
	}
	labels, err := metav1.LabelSelectorAsSelector(group.Spec.Selector)
	if err != nil {
		return nil, nil //nolint:nilerr // Compose reports it
	}
	if group.Spec.Selector == nil || labels.Empty() {
		return []string{metav1.NamespaceAll}, nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := seen.List(ctx, list, nil, client.InNamespace(metav1.NamespaceAll), client.MatchingLabelsSelector{Selector: labels}); err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// account writes which ServiceAccount limits the operators of the group.
func (c Composer) account(ctx context.Context, group *v1.OperatorGroup, seen *operon.Observed) error {
	name := group.Spec.ServiceAccountName
	group.Status.ServiceAccountRef = nil
	if name == "" {
		c.set(group, ConditionServiceAccount, false, "", "")
		return nil
	}
	account := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: group.Namespace, Name: name}}
	account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	found, err := seen.Get(ctx, account)
	if err != nil {
		return err
	}
	if found {
		group.Status.ServiceAccountRef = &corev1.ObjectReference{
			APIVersion: "v1", Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name, UID: account.UID,
		}
	}
	c.set(group, ConditionServiceAccount, !found, "ServiceAccountNotFound", fmt.Sprintf("ServiceAccount %s is not found: create it, or change spec.serviceAccountName", name))
	return nil
}

func (c Composer) set(group *v1.OperatorGroup, kind string, is bool, reason, message string) {
	if !is {
		meta.RemoveStatusCondition(&group.Status.Problems, kind)
		return
	}
	meta.SetStatusCondition(&group.Status.Problems, metav1.Condition{
		Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(c.Clock.Now()),
	})
}
