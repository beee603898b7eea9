// Command steps works in steps, upgrades, acts and provisions.
package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apps "k8s.io/client-go/applyconfigurations/apps/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/steps"

	v1 "github.com/operon-framework/operon/internal/tools/rbac/derive/testdata/forms/api"
)

func main() {
	operon.Main("steps-operator", operon.Version("1.0.0"), operon.Manage(Shops{}), operon.Manage(Malls{}, operon.MigrateStorage()))
}

type Shops struct{}

func (Shops) Compose(context.Context, *v1.Shop, *operon.Composition) error { return nil }

func (s Shops) Actions() operon.Actions[*v1.Shop] {
	return operon.Actions[*v1.Shop]{"backup": s.backup}
}

func (Shops) backup(ctx context.Context, s *v1.Shop, act *operon.ActionContext) error {
	if _, err := durable.Do(ctx, act.Run, steps.Exec("flush", steps.Command{})); err != nil {
		return err
	}
	if _, err := steps.Scale(ctx, act.Run, "down", &appsv1.StatefulSet{}, 0, true); err != nil {
		return err
	}
	_, err := durable.Do(ctx, act.Run, durable.Step[bool]{Name: "note", Do: func(ctx context.Context, a *durable.Attempt) (bool, error) {
		if _, err := a.Get(ctx, &corev1.Secret{}); err != nil {
			return false, err
		}
		return true, a.Client.Create(ctx, &corev1.ConfigMap{})
	}})
	return err
}

type Malls struct{}

func (Malls) Compose(context.Context, *v1.Mall, *operon.Composition) error { return nil }

func (Malls) RunWorkflow(ctx context.Context, m *v1.Mall, run *durable.Run) error {
	_, err := durable.Do(ctx, run, steps.Job("dump", &batchv1.Job{}))
	return err
}

func (Malls) Upgrade(ctx context.Context, m *v1.Mall, from *operon.UpgradeContext) error {
	there := &corev1.Service{}
	if err := from.Client.Get(ctx, client.ObjectKeyFromObject(m), there); err != nil {
		return err
	}
	if err := from.Client.Status().Patch(ctx, there, client.MergeFrom(there)); err != nil {
		return err
	}
	if _, err := controllerutil.CreateOrUpdate(ctx, from.Client, &corev1.Endpoints{}, func() error { return nil }); err != nil {
		return err
	}
	if _, err := controllerutil.CreateOrPatch(ctx, from.Client, &appsv1.DaemonSet{}, func() error { return nil }); err != nil {
		return err
	}
	// +operon:kind:group=apps,resource=deployments
	if err := from.Client.Apply(ctx, apps.Deployment("web", m.Namespace)); err != nil {
		return err
	}
	if err := from.Client.Apply(ctx, core.LimitRange("web", m.Namespace)); err != nil {
		return err
	}
	return from.Client.Patch(ctx, &corev1.ServiceAccount{}, client.Apply)
}
