package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/external"

	"github.com/operon-framework/operon/examples/vmgroup/api/v1alpha1"
	"github.com/operon-framework/operon/examples/vmgroup/vcenter"
)

// machine is the kind of the operator's external resources.
const machine = "machine"

// VMGroups manages spec.replicas machines for each VMGroup.
type VMGroups struct{}

// ComposeExternal declares the machines.
func (VMGroups) ComposeExternal(ctx context.Context, g *v1alpha1.VMGroup, out *operon.ExternalComposition) error {
	//operon:ignore rbac-secrets each VMGroup names the Secret of its vCenter, in its own namespace
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: g.Spec.Credentials}}
	found, err := out.Get(ctx, secret)
	if err != nil {
		return err
	}
	if !found {
		out.Wait("CredentialsMissing", fmt.Sprintf("there is no Secret %s that says how the vCenter is reached", g.Spec.Credentials))
		return nil
	}
	access, err := vcenter.AccessFrom(secret.Data)
	if err != nil {
		out.Wait("CredentialsInvalid", fmt.Sprintf("Secret %s: %v", g.Spec.Credentials, err))
		return nil
	}
	machines := operon.ExternalKind(out, machine, vcenter.Machines{Access: access, Group: g.Name},
		external.System(access.Host(), g.Namespace+"/"+secret.Name+" "+secret.ResourceVersion))
	for i := range g.Spec.Replicas {
		want := vcenter.Machine{CPU: g.Spec.CPU, Memory: g.Spec.Memory, Template: g.Spec.Template}
		machines.Declare(fmt.Sprint(i), want, external.Replace())
	}
	return nil
}

// Compose publishes the names of the machines for clients that connect to them.
func (VMGroups) Compose(_ context.Context, g *v1alpha1.VMGroup, out *operon.Composition) error {
	machines, err := operon.External[vcenter.Seen](out, machine)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, m := range machines {
		if m.Exists {
			names[m.Name] = m.State.Name
		}
	}
	out.Child(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: g.Name + "-machines"}, Data: names})
	return nil
}

// Observe reports the number of machines, and what the operator is waiting for.
func (VMGroups) Observe(_ context.Context, g *v1alpha1.VMGroup, seen *operon.Observed) error {
	machines, err := operon.External[vcenter.Seen](seen, machine)
	if err != nil {
		return err
	}
	s := &g.Status
	s.Phase, s.CurrentReplicas, s.DesiredReplicas, s.LastMessage = v1alpha1.Running, 0, g.Spec.Replicas, ""
	if len(machines) < int(g.Spec.Replicas) {
		s.Phase = v1alpha1.Pending
	}
	for _, m := range machines {
		if m.Exists {
			s.CurrentReplicas++
		}
		if !m.Ready && s.LastMessage == "" {
			s.Phase, s.LastMessage = v1alpha1.Scaling, fmt.Sprintf("machine %s: %s", m.Name, m.Why)
		}
	}
	return nil
}
